internal import Foundation
internal import LoopbackServer
internal import TestSupport
internal import Testing

/// Tests of `--clean` and of public headers.
@Suite(.endsWhenHung)
struct CleaningTests {
    private static let claim = "0123456789abcdef"

    /// Creates the files that a killed run leaves of a body without a validator, with an age of this number of days.
    private func leave(in folder: Folder, days: Int) throws {
        let stem = ".name.\(Self.claim)"
        for (name, count) in [("\(stem).lock", 0), ("\(stem)-\(Self.claim)-\(Self.claim).partial", 2048)] {
            let path = folder.url(name).path
            try Data(count: count).write(to: folder.url(name))
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSinceNow: -86_400.0 * Double(days) - 60)], ofItemAtPath: path)
        }
        try Data("x".utf8).write(to: folder.url(".other.partial"))
    }

    private func names(in folder: Folder) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.url(".").path).sorted().filter { $0.hasPrefix(".") }
    }

    @Test(arguments: [0, 1])
    func `boundary 12: leftovers are removed when they are a day old`(days: Int) async throws {
        try await Folder.with { folder in
            try leave(in: folder, days: days)
            let end = try await CommandRun(["--clean", "."], in: folder).end()
            #expect(end.status == 0)
            #expect(end.output.isEmpty)
            #expect(
                end.error == (days == 0 ? "removed 0 leftover files, 0 B\n" : "removed 2 leftover files, 2.0 KiB\n"))
            #expect(try names(in: folder).count == (days == 0 ? 3 : 1))
        }
    }

    @Test func `boundary 12: with --json, the number of removed files and bytes is reported`() async throws {
        try await Folder.with { folder in
            try leave(in: folder, days: 3)
            let end = try await CommandRun(["--clean", ".", "--json"], in: folder).end()
            #expect(end.output == "{\"event\":\"cleaned\",\"files\":2,\"bytes\":2048}\n")
            #expect(end.error.isEmpty)
        }
    }

    @Test func `a directory that does not exist cannot be cleaned`() async throws {
        try await Folder.with { folder in
            let end = try await CommandRun(["--clean", "missing"], in: folder).end()
            #expect(end.status == 1)
            #expect(end.error.hasPrefix("failed    destinationUnusable"))
        }
    }

    @Test(arguments: [
        ["--clean", ".", "http://a.example/x"], ["--clean", ".", "-j", "3"],
        ["http://a.example/x", "--public-header", "Authorization: s3cret"],
        ["http://a.example/x", "--public-header", "cookie: s3cret"], ["--public-header", "X: y"],
    ])
    func `incompatible options, and credentials in public headers, are wrong usage`(
        _ arguments: [String]
    ) async throws {
        try await Folder.with { folder in
            let end = try await CommandRun(arguments, in: folder).end()
            #expect(end.status == 64)
            #expect(!end.error.contains("s3cret"))
        }
    }

    @Test func `boundary 4: a secret header stays with its origin, and a public one crosses origins`() async throws {
        try await LoopbackServer.withServer { server in
            try await LoopbackServer.withServer { other in
                server.serve(
                    Resource(
                        Content(seed: 1, length: 10),
                        script: [[.redirect(location: "http://127.0.0.1:\(other.port)/b")]]), at: "a")
                other.serve(Resource(Content(seed: 1, length: 100), entityTag: "\"1\""), at: "b")
                try await Folder.with { folder in
                    let manifest =
                        "http://127.0.0.1:\(server.port)/a\n  out=x\n  public-header=X-Two: 2\n  header=X-Three: 3\n"
                    let end = try await CommandRun(
                        ["-i", "-", "--header", "X-Key: s3cret", "--public-header", "X-One: 1"], in: folder,
                        input: manifest
                    ).end()
                    #expect(end.status == 0, "\(end.error)")
                    let sent = try #require(server.requests(at: "a").first)
                    let crossed = try #require(other.requests(at: "b").first)
                    #expect(["X-Key", "X-One", "X-Two", "X-Three"].map { sent[$0] } == ["s3cret", "1", "2", "3"])
                    #expect(["X-Key", "X-One", "X-Two", "X-Three"].map { crossed[$0] } == [nil, "1", "2", nil])
                }
            }
        }
    }
}
