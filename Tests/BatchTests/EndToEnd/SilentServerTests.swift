internal import Foundation
internal import LoopbackServer
internal import TestSupport
internal import Testing

/// Tests of runs with a server that accepts connections and never answers.
@Suite(.endsWhenHung) struct SilentServerTests {
    private let content = Content(seed: 3, length: 50_000)

    /// A resource whose requests are never answered.
    private var held: Resource {
        var held = Resource(content, script: [[.holdHead]])
        held.repeatsLastStep = true
        return held
    }

    /// Calls `body` with this number of servers.
    private func withServers(
        _ count: Int, _ started: [LoopbackServer] = [], _ body: ([LoopbackServer]) async throws -> Void
    ) async throws {
        guard started.count < count else { return try await body(started) }
        try await LoopbackServer.withServer { try await withServers(count, started + [$0], body) }
    }

    @Test func `origins that never answer don't fill the window of a run`() async throws {
        try await withServers(5) { servers in
            for server in servers {
                server.serve(held, at: "held")
                server.serve(Resource(content), at: "file")
            }
            try await Folder.with { folder in
                // Two hosts with four origins each, which take twice the files that -j 2 may have open.
                let urls =
                    servers.dropLast().flatMap {
                        ["http://localhost:\($0.port)/held", "http://127.0.0.1:\($0.port)/held"]
                    }
                    + (0..<3).map { servers[4].url("file").absoluteString + "?\($0)" }
                let run = try CommandRun(
                    ["-i", "-", "-j", "2", "--timeout", "3600", "--json"], in: folder,
                    input: urls.map { $0 + "\n" }.joined())
                var finishedCount = 0
                for await line in run.lines where line.contains("\"event\":\"finished\"") {
                    finishedCount += 1
                    if finishedCount == 3 { break }
                }
                #expect(finishedCount == 3)
                run.signal(SIGINT)
                #expect(try await run.end().status == 130)
            }
        }
    }

    @Test(arguments: [true, false])
    func `an origin that never answers doesn't hold up the files of another one`(isSameHost: Bool) async throws {
        try await withServers(2) { servers in
            servers[0].serve(held, at: "held")
            servers[1].serve(Resource(content), at: "file")
            try await Folder.with { folder in
                let host = isSameHost ? "127.0.0.1" : "localhost"
                let silent = (0..<100).map { "http://\(host):\(servers[0].port)/held?\($0)\n" }
                let files = (0..<10).map { servers[1].url("file").absoluteString + "?\($0)\n" }
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
