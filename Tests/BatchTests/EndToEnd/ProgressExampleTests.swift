internal import Foundation
internal import LoopbackServer
internal import TestSupport
internal import Testing

/// Tests of whole runs of the smallest example.
@Suite(.endsWhenHung) struct ProgressExampleTests {
    @Test func `a run that downloads its file has the status 0`() async throws {
        try await LoopbackServer.withServer { server in
            let content = Content(seed: 3, length: 10_000)
            server.serve(Resource(content), at: "file")
            try await Folder.with { folder in
                let end = try await run([server.url("file").absoluteString, "copy"], in: folder)
                #expect(end.status == 0)
                #expect(end.output.contains("completed: 10000 bytes"))
                #expect(try folder.holds(content, at: "copy"))
            }
        }
    }

    @Test func `a run with an error prints it, and has the status 1`() async throws {
        try await LoopbackServer.withServer { server in
            server.serve(Resource(Content(seed: 3, length: 1), script: [[.status(404)]]), at: "file")
            try await Folder.with { folder in
                let end = try await run([server.url("file").absoluteString, "copy"], in: folder)
                #expect(end.status == 1)
                #expect(end.output.contains("404"))
                #expect(end.output.contains("failed: "))
            }
        }
    }

    @Test func `a run without a URL explains its arguments, and has the status 1`() async throws {
        try await Folder.with { folder in
            let end = try await run([], in: folder)
            #expect(end.status == 1)
            #expect(end.output == "usage: progress URL [FILE]\n")
        }
    }

    private func run(_ arguments: [String], in folder: Folder) async throws -> CommandRun.End {
        try await CommandRun(arguments, of: "progress", in: folder).end()
    }
}
