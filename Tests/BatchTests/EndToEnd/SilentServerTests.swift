internal import Foundation
internal import LoopbackServer
internal import TestSupport
internal import Testing

/// Tests of runs with a server that accepts connections and never answers.
@Suite(.endsWhenHung) struct SilentServerTests {
    private let content = Content(seed: 3, length: 50_000)

    @Test func `a host that never answers doesn't hold up the files of another one`() async throws {
        try await LoopbackServer.withServer { server in
            var held = Resource(content, script: [[.holdHead]])
            held.repeatsLastStep = true
            server.serve(held, at: "held")
            server.serve(Resource(content), at: "file")
            try await Folder.with { folder in
                let silent = (0..<100).map { "http://localhost:\(server.port)/held?\($0)\n" }
                let files = (0..<10).map { server.url("file").absoluteString + "?\($0)\n" }
                let run = try CommandRun(
                    ["-i", "-", "-j", "2", "--json"], in: folder, input: (silent + files).joined())
                var finishedCount = 0
                for await line in run.lines where line.contains("\"event\":\"finished\"") {
                    finishedCount += 1
                    if finishedCount == files.count { break }
                }
                #expect(finishedCount == files.count)
                run.signal(SIGINT)
                #expect(try await run.end().status == 130)
            }
        }
    }
}
