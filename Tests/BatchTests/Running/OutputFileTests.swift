internal import Foundation
internal import TestSupport
internal import Testing

@testable internal import batch

/// Tests of files that the tool writes.
@Suite(.endsWhenHung) struct OutputFileTests {
    @Test func `a path that leads to another file doesn't lead to this one`() async throws {
        try await Folder.with { folder in
            let (path, other) = (folder.url("file").path, folder.url("other").path)
            let file = try OutputFile(path, O_WRONLY | O_CREAT)
            defer { file.close() }
            #expect(file.isFile(at: path))
            try OutputFile(other, O_WRONLY | O_CREAT).close()
            #expect(rename(other, path) == 0)
            #expect(!file.isFile(at: path))
            unlink(path)
            #expect(!file.isFile(at: path))
            #expect(symlink("/dev/null", path) == 0)
            #expect(!file.isFile(at: path))
        }
    }

    @Test func `a result at a descriptor is followed by what is written there later`() async throws {
        try await Folder.with { folder in
            let file = try OutputFile(folder.url("log").path, O_WRONLY | O_CREAT)
            defer { file.close() }
            try file.write(Array("before ".utf8))
            var result = try ResultFile("/dev/fd/\(file.descriptor)")
            result.add("result ")
            #expect(result.finish() == nil)
            try file.write(Array("after".utf8))
            #expect(try String(contentsOf: folder.url("log"), encoding: .utf8) == "before result after")
            #expect(throws: Misuse.self) { try ResultFile("/dev/fd/1000000") }
        }
    }

    @Test func `a directory at the path of an unfinished report is an error before anything is written`() async throws {
        try await Folder.with { folder in
            let temporary = folder.url("temporary")
            try FileManager.default.createDirectory(at: temporary, withIntermediateDirectories: true)
            #expect(throws: Misuse.self) {
                try ResultFile(folder.url("report").path, temporary: temporary.path)
            }
            #expect(try folder.names() == ["temporary"])
        }
    }
}
