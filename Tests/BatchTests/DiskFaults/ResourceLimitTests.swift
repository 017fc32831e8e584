internal import Foundation
internal import LoopbackServer
internal import TestSupport
internal import Testing

@testable internal import AsyncDownloads

/// The limits that a system sets a process (getrlimit(2)), which end no process and no download for good (rule 44).
@Suite(.endsWhenHung)
struct ResourceLimitTests {
    /// In the blocks of 512 bytes that POSIX's `ulimit` counts in: 2 MiB.
    private static let fileSize = "-f 4096"

    @Test func `A file that is longer than the limit on sizes is refused before its first byte`() async throws {
        let content = Content(seed: 9, length: 4 << 20)
        try await LoopbackServer.withServer { server in
            try await Folder.with { folder in
                server.serve(Resource(content, entityTag: "\"1\"", script: [[.stall(after: 0)]]), at: "object")
                let arguments = [server.url("object").absoluteString, "--json"]
                let end = try await CommandRun(arguments, in: folder, limit: Self.fileSize).end()
                #expect(end.status == 1)
                let failed = try end.failure()
                #expect(failed.code == "diskFull")
                #expect(server.bodyBytesSent(at: "object") == 0)
                #expect(try folder.names().isEmpty)
                #expect(try await CommandRun(arguments, in: folder).end().status == 0)
                #expect(try folder.holds(content, at: "object"))
            }
        }
    }

    @Test func `A file that grows to the limit on sizes is kept, and goes on without it`() async throws {
        let content = Content(seed: 10, length: 4 << 20)
        try await LoopbackServer.withServer { server in
            try await Folder.with { folder in
                var resource = Resource(content, entityTag: "\"1\"")
                resource.framing = .chunked
                server.serve(resource, at: "object")
                let arguments = [server.url("object").absoluteString, "--json"]
                let end = try await CommandRun(arguments, in: folder, limit: Self.fileSize).end()
                #expect(end.status == 1)
                let failed = try end.failure()
                #expect(failed.code == "diskFull")
                let kept = try #require(failed.kept)
                #expect(kept > 0 && kept <= 2 << 20)
                #expect(try Remains(in: folder.url, of: content).received == IntervalSet(0..<kept))
                #expect(try await CommandRun(arguments, in: folder).end().status == 0)
                #expect(server.requests(at: "object").map(\.start) == [0, kept])
                #expect(try folder.holds(content, at: "object"))
            }
        }
    }

    /// Fewer than an engine, a lock, a partial and a connection need, and then just enough.
    ///
    /// NIO would end the process where its threads can open nothing; what libdispatch does is told below.
    @Test(arguments: ["http-client", "urlsession"], [10, 12, 14, 16, 18, 20])
    func `A process with hardly any descriptors says so, and goes on with more`(
        engine: String, descriptors: Int
    ) async throws {
        try await LoopbackServer.withServer { server in
            try await Folder.with { folder in
                server.serve(Resource(Self.small, entityTag: "\"1\""), at: "object")
                let arguments = [server.url("object").absoluteString, "--json", "--retries", "0", "--engine", engine]
                let end = try await CommandRun(arguments, in: folder, limit: "-n \(descriptors)").end()
                #expect([0, 1, -1].contains(end.status) && !end.error.contains("NIOPosix"), "\(end.error)")
                if end.status == 1 { #expect(try end.failure().code == "tooManyOpenFiles") }
                #expect(try await CommandRun(arguments, in: folder).end().status == 0)
                #expect(try folder.names() == ["object"])
                #expect(try folder.holds(Self.small, at: "object"))
            }
        }
    }

    private static let small = Content(seed: 11, length: 3000)
    private static let names = (10..<50).map { "object-\($0)" }

    /// Forty downloads at once, each of which holds some descriptors until the server answers.
    ///
    /// On Linux libdispatch itself needs a descriptor now and then, to look at its threads in /proc, and ends the process
    /// where there is none (6.3). Then the same command has to go on; what may not be is a download that fails.
    @Test(arguments: ["http-client", "urlsession"])
    func `More downloads than there are descriptors take their turns, and none fails`(engine: String) async throws {
        try await LoopbackServer.withServer { server in
            for name in Self.names {
                server.serve(Resource(Self.small, entityTag: "\"1\"", script: [[.holdHead]]), at: name)
            }
            let list = Self.names.map { server.url($0).absoluteString + "\n" }.joined()
            let arguments = ["-i", "-", "-j", "40", "--retries", "1000", "--json", "--engine", engine]
            try await Folder.with { folder in
                let run = try CommandRun(arguments, in: folder, input: list, limit: "-n 64")
                let isTold = await run.told { $0["error"] as? String == "tooManyOpenFiles" }
                for name in Self.names {
                    server.serve(Resource(Self.small, entityTag: "\"1\""), at: name)
                    server.release(name)
                }
                let end = try await run.end()
                #expect(end.status == 0 && isTold || end.status == -1, "\(end.error)")
                #expect(!end.output.contains("\"event\":\"failed\""))
                if end.status == -1 { _ = try await CommandRun(arguments, in: folder, input: list).end() }
                #expect(try folder.names() == Self.names)
                #expect(try Self.names.allSatisfy { try folder.holds(Self.small, at: $0) })
            }
        }
    }
}
