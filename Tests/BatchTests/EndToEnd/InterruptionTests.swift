internal import Foundation
internal import LoopbackServer
internal import TestSupport
internal import Testing

/// Tests of signals during a run.
@Suite(.endsWhenHung) struct InterruptionTests {
    private let content = Content(seed: 3, length: 300_000)

    /// The signals, and an engine for each.
    ///
    /// Under nohup(1), the tool ignores SIGHUP like the process of the tests.
    private static let signals: [(Int32, String)] = {
        let handler = signal(SIGHUP, SIG_IGN)
        signal(SIGHUP, handler)
        let isIgnored = unsafeBitCast(handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
        return [(SIGINT, "http-client"), (SIGTERM, "urlsession")] + (isIgnored ? [] : [(SIGHUP, "http-client")])
    }()

    @Test(arguments: signals)
    func `a run keeps the bytes at a signal, and the same command continues`(signal: Int32, engine: String) async throws
    {
        try await LoopbackServer.withServer { server in
            server.serve(Resource(content, entityTag: "\"1\"", script: [[.stall(after: 100_000)]]), at: "file")
            try await Folder.with { folder in
                let arguments = [
                    server.url("file").absoluteString, "-d", "files", "--json", "--engine", engine,
                ]
                let first = try CommandRun(arguments, in: folder)
                try await wait(for: "progress", upTo: 100_000, of: first)
                first.signal(signal)
                let interrupted = try await first.end()
                #expect(interrupted.status == 128 + signal)
                let names = try interrupted.events().compactMap { $0["event"] as? String }
                #expect(names.suffix(2) == ["paused", "summary"])
                let counts = "0 of 1 file finished, 1 partially downloaded, 0 waiting"
                let remainder = "all received bytes are saved: \(counts)"
                let line = "interrupted; \(remainder); run the same command again to continue\n"
                #expect(interrupted.error == line)
                #expect(try !folder.names("files").contains("file"))

                let end = try await CommandRun(arguments, in: folder).end()
                #expect(end.status == 0)
                let requests = server.requests(at: "file")
                #expect(requests.count == 2)
                #expect(requests.last?["Range"]?.hasPrefix("bytes=100000-") == true)
                #expect(try folder.bytes("files/file") == content.bytes(in: 0..<content.length))
                #expect(try end.events().last?["fetched"] as? Int == 200_000)
            }
        }
    }

    /// Waits until the run has reported this number of bytes.
    private func wait(for event: String, upTo count: Int, of run: CommandRun) async throws {
        for await line in run.lines {
            let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            if object?["event"] as? String == event, object?["received"] as? Int == count { return }
        }
        Issue.record("the run has ended early")
    }

    @Test func `downloads that wait for a retry, for a permit, or for their start stop too`() async throws {
        try await LoopbackServer.withServer { server in
            server.serve(Resource(content, script: [[.retryAfter("600")]]), at: "busy")
            server.serve(Resource(content, script: [[.holdHead]]), at: "held")
            try await Folder.with { folder in
                // The other URLs don't belong to the host that asks to wait.
                let busy = "http://localhost:\(server.port)/busy"
                let names = ["held"] + (0..<20).map { "waiting?\($0)" }
                let list = ([busy] + names.map { server.url($0).absoluteString }).map { $0 + "\n" }.joined()
                try Data(list.utf8).write(to: folder.url.appending(path: "list"))
                let run = try CommandRun(["-i", "list", "-j", "1", "--json"], in: folder)
                _ = await server.requests(at: "held", reaching: 1)
                run.signal(SIGINT)
                let end = try await run.end()
                #expect(end.status == 130)
                let paused = try end.events().filter { $0["event"] as? String == "paused" }
                // The number of the others that have begun to wait depends on when the signal arrives.
                let ids = paused.compactMap { $0["id"] as? Int }.sorted()
                #expect(ids.count >= 2 && ids == Array(0..<ids.count))
                #expect(end.error.contains("0 of 22 files finished, 0 partially downloaded, 22 waiting"))
                #expect(server.requests(at: "waiting").isEmpty)
            }
        }
    }

    @Test func `a second signal ends a run that cannot stop`() async throws {
        // The pipe of standard output is full, so that the write of the first event blocks.
        let pipe = Pipe()
        let end = pipe.fileHandleForWriting.fileDescriptor
        let flags = fcntl(end, F_GETFL)
        _ = fcntl(end, F_SETFL, flags | O_NONBLOCK)
        while write(end, [UInt8](repeating: 0, count: 4096), 4096) > 0 {}
        _ = fcntl(end, F_SETFL, flags)
        try await LoopbackServer.withServer { server in
            server.serve(Resource(content, entityTag: "\"1\"", script: [[.stall(after: 100_000)]]), at: "file")
            try await Folder.with { folder in
                let run = try CommandRun(
                    [server.url("file").absoluteString, "--json"], in: folder, output: pipe.fileHandleForWriting)
                _ = await server.requests(at: "file", reaching: 1)
                run.signal(SIGINT)
                run.signal(SIGTERM)
                // The status corresponds to the signal that arrived first.
                let status = try await run.end().status
                #expect(status == 130 || status == 143)
            }
        }
    }

    @Test func `a reader that closes its pipe does not end the downloads`() async throws {
        let pipe = Pipe()
        try pipe.fileHandleForReading.close()
        try await LoopbackServer.withServer { server in
            server.serve(Resource(content), at: "file")
            try await Folder.with { folder in
                let run = try CommandRun(
                    [server.url("file").absoluteString, "--json"], in: folder, output: pipe.fileHandleForWriting)
                #expect(try await run.end().status == 0)
                #expect(try folder.bytes("file") == content.bytes(in: 0..<content.length))
            }
        }
    }
}
