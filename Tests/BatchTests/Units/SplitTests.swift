internal import Foundation
internal import TestSupport
internal import Testing

@testable internal import batch

/// Tests of `batch split`.
@Suite(.endsWhenHung) struct SplitTests {
    private static let manifest = """
        https://a.example/1/x
          header=Authorization: s3cret
        https://b.example:8443/x
        http://A.EXAMPLE/2/y\thttps://m.example/y
          checksum=sha-256=\(String(repeating: "0", count: 64))
          size=5
        {"url":"https://c.example/x","out":"sub/x"}

        """

    @Test func `an empty directory that isn't replaced is kept with its permissions`() async throws {
        try await Folder.with { folder in
            // The hidden name of the second one is too long.
            for name in ["units", String(repeating: "n", count: 245)] {
                let path = folder.url(name).path
                try FileManager.default.createDirectory(
                    atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o750])
                if let writer = try? UnitWriter(path, by: .line, lineCount: 10) { writer.discard() }
                let attributes = try FileManager.default.attributesOfItem(atPath: path)
                #expect(attributes[.posixPermissions] as? Int == 0o750)
            }
            #expect(try folder.names(".").count == 2)
        }
    }

    @Test func `all lines of a host are in one lane, and the units describe the same downloads`() async throws {
        try await Folder.with { folder in
            let index = try await folder.split(Self.manifest, "--lines", "1")
            #expect(index.count == 4 && index.units.map(\.count) == [1, 1, 1, 1])
            #expect(index.units.map(\.lane) == [0, 1, 0, 2])
            #expect(index.units.map(\.unit) == ["000000", "000001", "000002", "000003"])
            let lines = try index.units.map { String(decoding: try folder.bytes("units/\($0.file)"), as: UTF8.self) }
            #expect(
                lines == [
                    "https://a.example/1/x\n  header=Authorization: s3cret\n",
                    "https://b.example:8443/x\n  name=x-2\n",
                    "http://A.EXAMPLE/2/y\n  checksum=sha-256=\(String(repeating: "0", count: 64))\n  size=5\n"
                        + "  mirror=https://m.example/y\n",
                    "https://c.example/x\n  out=sub/x\n",
                ])
            for unit in index.units {
                #expect(try Digests.compute(folder.url("units/\(unit.file)")) == unit.sha256)
                let attributes = try FileManager.default.attributesOfItem(atPath: folder.url("units/\(unit.file)").path)
                #expect(attributes[.posixPermissions] as? Int == 0o600)
            }
            #expect(try folder.names() == ["units", "urls.txt"])
        }
    }

    @Test func `lines are divided in their order on request`() async throws {
        try await Folder.with { folder in
            let manifest = (0..<7).map { "http://h\($0 % 2).example/\($0)\n" }.joined()
            let index = try await folder.split(manifest, "--by", "line", "--lines", "3")
            #expect(index.units.map(\.count) == [3, 3, 1] && index.units.map(\.lane) == [0, 1, 2])
            #expect(try String(decoding: folder.bytes("units/000002.txt"), as: UTF8.self) == "http://h0.example/6\n")
        }
    }

    @Test func `each lane belongs to one task, whatever the number of tasks is`() async throws {
        try await Folder.with { folder in
            let manifest = (0..<300).map { "http://h\($0 % 50).example/\($0)\n" }.joined()
            let index = try await folder.split(manifest, "--lines", "4")
            for count in [1, 3, 8, 60] {
                let tasks = (0..<count).map { index.lanes(ofTask: $0, of: count) }
                #expect(tasks.joined().joined().map(\.unit).sorted() == index.units.map(\.unit))
                #expect(tasks.joined().allSatisfy { Set($0.map(\.lane)).count == 1 })
                #expect(Set(tasks.joined().map { $0[0].lane }).count == 50)
            }
        }
    }

    @Test(arguments: [
        ("http://a.example/x\nftp://b.example/y\n", "urls.txt:2: "),
        ("http://a.example/x\nhttp://b.example/y\n  out=x\n", "urls.txt:3: "),
    ])
    func `a bad line leaves nothing behind`(manifest: String, message: String) async throws {
        try await Folder.with { folder in
            try Data(manifest.utf8).write(to: folder.url("urls.txt"))
            let end = try await CommandRun(["split", "-i", "urls.txt", "-o", "units"], in: folder).end()
            #expect(end.status == 64 && end.error.contains(message), "\(end.error)")
            #expect(try folder.names() == ["urls.txt"])
        }
    }

    @Test(arguments: [
        (["-o", "new"], "-i"), (["-i", "urls.txt"], "--output"), (["-i", "urls.txt", "-o", "."], "not empty"),
        (["-i", "urls.txt", "-o", "new", "--lines", "0"], "--lines"), (["-i", "missing", "-o", "new"], "missing"),
        (["-i", "urls.txt", "-o", "new", "--by", "size"], "--by"), (["--checksums", "x", "-o", "new"], "--base"),
        (["-i", "urls.txt", "-o", "new", "--line", "5"], "did you mean --lines?"),
    ])
    func `wrong usage is an error`(arguments: [String], word: String) async throws {
        try await Folder.with { folder in
            try Data("http://a.example/x\n".utf8).write(to: folder.url("urls.txt"))
            let end = try await CommandRun(["split"] + arguments, in: folder).end()
            #expect(end.status == 64 && end.error.contains(word), "\(end.error)")
            #expect(try folder.names() == ["urls.txt"])
        }
    }
}
