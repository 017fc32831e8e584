internal import Foundation
internal import LoopbackServer
internal import TestSupport
internal import Testing

@testable internal import AsyncDownloads

/// Tests with the resource limits of a process (getrlimit(2)), which must not make a download impossible (rule 44).
@Suite(.endsWhenHung)
struct ResourceLimitTests {
    /// A limit of 2 MiB, in the blocks of 512 bytes that POSIX's `ulimit` uses.
    private static let fileSize = "-f 4096"

    @Test func `a file that is longer than the file size limit is rejected before its first byte`() async throws {
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

    @Test func `a file that reaches the file size limit is kept, and a run without a limit resumes`() async throws {
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

    /// Tests limits from too few descriptors for an engine, a lock, a partial file, and a connection to just enough.
    ///
    /// NIO would end the process if its threads could not open descriptors. libdispatch may end the process, too, as
    /// the next test describes.
    @Test(arguments: ["nio", "http-client", "urlsession"], [10, 12, 14, 16, 18, 20])
    func `a process with very few descriptors reports it, and a run with more descriptors succeeds`(
        engine: String, descriptors: Int
    ) async throws {
        try await LoopbackServer.withServer { server in
            try await Folder.with { folder in
                server.serve(Resource(Self.small, entityTag: "\"1\""), at: "object")
                let arguments = [server.url("object").absoluteString, "--json", "--retries", "0", "--engine", engine]
                let end = try await CommandRun(
                    arguments, in: folder, environment: Self.withoutBacktraces, limit: "-n \(descriptors)"
                ).end()
                #expect([0, 1, 75, -1].contains(end.status) && !end.error.contains("NIOPosix"), "\(end.error)")
                if end.status > 0 { #expect(try end.failure().code == "tooManyOpenFiles") }
                #expect(try await CommandRun(arguments, in: folder).end().status == 0)
                #expect(try folder.names() == ["object"])
                #expect(try folder.holds(Self.small, at: "object"))
            }
        }
    }

    /// The variables without which Swift writes about the end of the process to standard output, even if another thread
    /// has just ended it with a status.
    private static let withoutBacktraces = ["SWIFT_BACKTRACE": "enable=no"]
    private static let small = Content(seed: 11, length: 3000)
    private static let names = (10..<50).map { "object-\($0)" }

    /// Tests forty concurrent downloads, each of which holds some descriptors until the server responds.
    ///
    /// On Linux, libdispatch sometimes needs a descriptor to examine its threads in /proc, and ends the process if none
    /// is available (Swift 6.3). Then the same command has to resume. In no case may a download fail.
    @Test(arguments: ["nio", "http-client", "urlsession"])
    func `downloads that need more descriptors than allowed are retried, and none fails`(engine: String) async throws {
        try await LoopbackServer.withServer { server in
            for name in Self.names {
                server.serve(Resource(Self.small, entityTag: "\"1\"", script: [[.holdHead]]), at: name)
            }
            let list = Self.names.map { server.url($0).absoluteString + "\n" }.joined()
            let arguments = [
                "-i", "-", "-j", "40", "--per-host", "40", "--retries", "1000", "--json", "--engine", engine,
            ]
            try await Folder.with { folder in
                let run = try CommandRun(arguments, in: folder, input: list, limit: "-n 64")
                let isReported: Bool
                if engine == "nio" {
                    // Its requests may wait for descriptors instead of failing; any of them may be the first.
                    await withTaskGroup { group in
                        for name in Self.names { group.addTask { _ = await server.requests(at: name, reaching: 1) } }
                        await group.next()
                        group.cancelAll()
                    }
                    isReported = true
                } else {
                    isReported = await run.printed { $0["error"] as? String == "tooManyOpenFiles" }
                }
                for name in Self.names {
                    server.serve(Resource(Self.small, entityTag: "\"1\""), at: name)
                    server.release(name)
                }
                let end = try await run.end()
                #expect(end.status == 0 && isReported || end.status == -1, "\(end.error)")
                #expect(!end.output.contains("\"event\":\"failed\""))
                if end.status == -1 { _ = try await CommandRun(arguments, in: folder, input: list).end() }
                #expect(try folder.names() == Self.names)
                #expect(try Self.names.allSatisfy { try folder.holds(Self.small, at: $0) })
            }
        }
    }
}
