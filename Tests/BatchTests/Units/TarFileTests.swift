internal import Foundation
internal import TestSupport
internal import Testing

@testable internal import batch

/// Tests of archives, which tar(1) reads.
@Suite(.endsWhenHung) struct TarFileTests {
    private static let names = [
        "a", "sub/b.bin", String(repeating: "n", count: 100), String(repeating: "n", count: 101),
        String(repeating: "d/", count: 120) + "x", "räksmörgås-日本", "-x", "a b\"c",
    ]

    @Test func `an archive contains each file under its name`() async throws {
        try await Folder.with { folder in
            let file = folder.url("file")
            var archive = try TarFile(folder.url("x.tar").path, length: 0)
            for (size, name) in Self.names.enumerated() {
                try Data(repeating: UInt8(size), count: size * 300).write(to: file)
                try archive.add(file, as: name)
            }
            try archive.finish()
            let members = try folder.members(of: "x.tar")
            #expect(members.count == Self.names.count)
            for (size, name) in Self.names.enumerated() {
                let bytes = try folder.bytes(of: name, in: "x.tar")
                #expect(bytes == [UInt8](repeating: UInt8(size), count: size * 300), "\(name)")
            }
        }
    }

    @Test func `an archive is continued at the end of a complete file`() async throws {
        try await Folder.with { folder in
            try Data(repeating: 1, count: 700).write(to: folder.url("file"))
            var archive = try TarFile(folder.url("x.tar").path, length: 0)
            try archive.add(folder.url("file"), as: "first")
            let length = archive.length
            try archive.add(folder.url("file"), as: "torn")
            archive.close()
            var continued = try TarFile(folder.url("x.tar").path, length: length)
            try continued.add(folder.url("file"), as: "second")
            try continued.finish()
            #expect(try folder.members(of: "x.tar") == ["first", "second"])
            #expect(throws: Misuse.self) { try TarFile(folder.url("x.tar").path, length: 1 << 20) }
        }
    }

    @Test func `a file that can't be read leaves the archive as it was`() async throws {
        try await Folder.with { folder in
            try Data(repeating: 1, count: 700).write(to: folder.url("file"))
            var archive = try TarFile(folder.url("x.tar").path, length: 0)
            try archive.add(folder.url("file"), as: "first")
            // The size of a directory is known, but it has no bytes to read.
            #expect(throws: Misuse.self) { try archive.add(folder.url, as: "torn") }
            try archive.add(folder.url("file"), as: "second")
            try archive.finish()
            #expect(try folder.members(of: "x.tar") == ["first", "second"])
            #expect(try folder.bytes(of: "second", in: "x.tar") == [UInt8](repeating: 1, count: 700))
        }
    }

    @Test func `a size of eight GiB and more has its own record`() {
        let header = TarFile.header("big", size: 1 << 33, time: 0)
        #expect(header.count == 1536)
        #expect(String(decoding: header[512..<1024], as: UTF8.self).hasPrefix("19 size=8589934592\n"))
        #expect(TarFile.header("big", size: (1 << 33) - 1, time: 0).count == 512)
    }
}
