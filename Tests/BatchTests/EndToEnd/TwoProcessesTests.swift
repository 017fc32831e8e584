internal import Foundation
internal import LoopbackServer
internal import TestSupport
internal import Testing

@testable internal import AsyncDownloads

/// Tests of two runs that download one URL to one destination at the same time (rule 50).
@Suite(.endsWhenHung, .serialized)
struct TwoProcessesTests {
    private static let content = Content(seed: 22, length: 6 << 20)

    private func arguments(_ server: LoopbackServer, _ more: String...) -> [String] {
        [server.url("object").absoluteString, "-d", "files", "--json"] + more
    }

    /// The timing of the two runs, generated from a seed.
    struct Meeting: Sendable, CustomTestStringConvertible {
        let seed: UInt64
        /// The number of bytes that the server has sent when the second run starts; 0 if both start together.
        let lag: Int64
        /// The number of bytes that the server has sent when the first run is killed; nil if it isn't killed.
        let death: Int64?
        let engine: String

        init(seed: UInt64) {
            var generator = SplitMix64(seed: seed)
            self.seed = seed
            lag = seed.isMultiple(of: 4) ? 0 : Int64.random(in: 1...4 << 20, using: &generator)
            death = seed.isMultiple(of: 2) ? Int64.random(in: lag...5 << 20, using: &generator) : nil
            engine = seed.isMultiple(of: 3) ? "urlsession" : "http-client"
        }

        var testDescription: String {
            "seed \(seed), \(engine), second run after \(lag) bytes, "
                + (death.map { "first run killed after \($0) bytes" } ?? "no kill")
        }
    }

    @Test(arguments: Seeds.first(7).map { Meeting(seed: $0) })
    func `two runs leave one complete file, even if the first one is killed`(_ meeting: Meeting) async throws {
        try await LoopbackServer.withServer { server in
            try await Folder.with { folder in
                var resource = Resource(
                    Self.content, entityTag: "\"1\"", script: [[.throttle(bytesPerSecond: 40_000_000)]])
                resource.repeatsLastStep = true
                server.serve(resource, at: "object")
                let arguments = arguments(server, "--engine", meeting.engine)
                let first = try CommandRun(arguments, in: folder)
                await server.bodyBytesSent(at: "object", reaching: meeting.lag)
                let second = try CommandRun(arguments, in: folder)
                if let death = meeting.death {
                    await server.bodyBytesSent(at: "object", reaching: death)
                    first.signal(SIGKILL)
                }
                let ends = [try await first.end(), try await second.end()]
                // The first run may have succeeded before the signal arrived.
                #expect(ends[0].status == 0 || meeting.death != nil && ends[0].status == -1, "\(ends[0].error)")
                #expect(ends[1].status == 0, "\(ends[1].error)")
                #expect(try folder.holds(Self.content, at: "files/object"))
                if ends[0].status == -1, try folder.names("files") != ["object"] {
                    // The first run was killed when it had waited for the second one to finish, and then started.
                    #expect(try await CommandRun(arguments, in: folder).end().status == 0)
                    #expect(try folder.holds(Self.content, at: "files/object"))
                }
                #expect(try folder.names("files") == ["object"])
            }
        }
    }

    @Test func `the second run resumes from the bytes of a killed first run`() async throws {
        try await LoopbackServer.withServer { server in
            try await Folder.with { folder in
                server.serve(
                    Resource(Self.content, entityTag: "\"1\"", script: [[.stall(after: 4 << 20)]]), at: "object")
                let first = try CommandRun(arguments(server), in: folder)
                #expect(await first.printed { $0["received"] as? Int == 4 << 20 })
                let second = try CommandRun(arguments(server), in: folder)
                // A third run that must not wait fails, which shows that the second one waits.
                let refused = try await CommandRun(arguments(server, "--in-use", "fail"), in: folder).end()
                // The file may be free later.
                #expect(refused.status == 75)
                let failed = try refused.failure()
                #expect(failed.code == "partialInUse")
                #expect(server.requests(at: "object").count == 1)

                first.signal(SIGKILL)
                #expect(try await first.end().status == -1)
                let end = try await second.end()
                #expect(end.status == 0, "\(end.error)")
                let starts = server.requests(at: "object").map(\.start)
                #expect(starts.count == 2)
                #expect(try #require(starts.last) > 2 << 20)
                #expect(try end.fetched() == Self.content.length - (starts.last ?? 0))
                #expect(try folder.holds(Self.content, at: "files/object"))
                #expect(try folder.names("files") == ["object"])
            }
        }
    }

    @Test func `the deadline limits the wait for another process`() async throws {
        try await LoopbackServer.withServer { server in
            try await Folder.with { folder in
                server.serve(
                    Resource(Self.content, entityTag: "\"1\"", script: [[.stall(after: 4 << 20)]]), at: "object")
                let first = try CommandRun(arguments(server), in: folder)
                #expect(await first.printed { $0["received"] as? Int == 4 << 20 })
                let second = try await CommandRun(arguments(server, "--deadline", "1"), in: folder).end()
                #expect(second.status == 75)
                let failed = try second.failure()
                #expect(failed.code == "deadlineExceeded")
                server.release("object")
                #expect(try await first.end().status == 0)
                #expect(try folder.holds(Self.content, at: "files/object"))
            }
        }
    }

    @Test func `a body that is longer than allowed is rejected`() async throws {
        try await LoopbackServer.withServer { server in
            try await Folder.with { folder in
                server.serve(Resource(Self.content, entityTag: "\"1\""), at: "object")
                let end = try await CommandRun(arguments(server, "--max-bytes", "5M"), in: folder).end()
                #expect(end.status == 1)
                let failed = try end.failure()
                #expect(failed.code == "bodyTooLarge")
                #expect(try await CommandRun(arguments(server, "--max-bytes", "6M"), in: folder).end().status == 0)
                #expect(try folder.holds(Self.content, at: "files/object"))
            }
        }
    }
}
