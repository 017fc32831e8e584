internal import Foundation
internal import LoopbackServer
internal import TestSupport
internal import Testing

/// Tests with directories that are deleted, and destinations that are not usable (rule 44).
@Suite(.endsWhenHung)
struct BadPlaceTests {
    private let content = Content(seed: 8, length: 8 << 20)

    @Test(arguments: ["http-client", "urlsession"])
    func `a download fails if its directory is deleted, and the next run creates the directory again`(
        engine: String
    ) async throws {
        try await LoopbackServer.withServer { server in
            try await Folder.with { folder in
                server.serve(Resource(content, entityTag: "\"1\"", script: [[.stall(after: 2 << 20)]]), at: "object")
                let arguments = [
                    server.url("object").absoluteString, "-d", "files", "--json", "--engine", engine,
                ]
                let run = try CommandRun(arguments, in: folder)
                #expect(await run.printed { $0["received"] as? Int == 2 << 20 })
                // The run may be creating a checkpoint in the directory.
                while (try? FileManager.default.removeItem(at: folder.url("files"))) == nil { await Task.yield() }
                server.release("object")
                let end = try await run.end()
                #expect(end.status == 1)
                let failed = try end.failure()
                #expect(failed.code == "destinationUnusable")
                #expect(failed.isRetryable == false)
                #expect(failed.kept == 0)
                #expect(try folder.files().isEmpty)

                #expect(try await CommandRun(arguments, in: folder).end().status == 0)
                #expect(try folder.holds(content, at: "files/object"))
                #expect(try folder.names("files") == ["object"])
            }
        }
    }

    @Test func `a destination that is a directory is rejected before a request is sent`() async throws {
        try await LoopbackServer.withServer { server in
            try await Folder.with { folder in
                server.serve(Resource(content, entityTag: "\"1\""), at: "object")
                let arguments = [server.url("object").absoluteString, "-o", "place", "--json"]
                try FileManager.default.createDirectory(at: folder.url("place"), withIntermediateDirectories: false)
                let end = try await CommandRun(arguments, in: folder).end()
                #expect(end.status == 1)
                let failed = try end.failure()
                #expect(failed.code == "destinationUnusable")
                #expect(server.requests(at: "object").isEmpty)
                #expect(try folder.names() == ["place"])

                try FileManager.default.removeItem(at: folder.url("place"))
                #expect(try await CommandRun(arguments, in: folder).end().status == 0)
                #expect(try folder.holds(content, at: "place"))
            }
        }
    }

    @Test func `a download whose destination becomes a directory fails at the end and keeps all bytes`()
        async throws
    {
        try await LoopbackServer.withServer { server in
            try await Folder.with { folder in
                server.serve(Resource(content, entityTag: "\"1\"", script: [[.stall(after: 2 << 20)]]), at: "object")
                let arguments = [server.url("object").absoluteString, "-o", "place", "--json"]
                let run = try CommandRun(arguments, in: folder)
                #expect(await run.printed { $0["received"] as? Int == 2 << 20 })
                try FileManager.default.createDirectory(at: folder.url("place"), withIntermediateDirectories: false)
                server.release("object")
                let failed = try await run.end().failure()
                #expect(failed.code == "destinationUnusable")

                try FileManager.default.removeItem(at: folder.url("place"))
                #expect(try await CommandRun(arguments, in: folder).end().status == 0)
                #expect(server.requests(at: "object").count == 1, "rule 12: a complete file is not requested again")
                #expect(try folder.holds(content, at: "place"))
            }
        }
    }
}
