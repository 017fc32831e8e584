internal import Foundation
internal import LoopbackServer
internal import TestSupport
internal import Testing

@testable internal import AsyncDownloads

/// Two runs that download one URL to one place at once (rule 50).
@Suite(.endsWhenHung, .serialized)
struct TwoProcessesTests {
    private static let content = Content(seed: 22, length: 6 << 20)

    private func arguments(_ server: LoopbackServer, _ more: String...) -> [String] {
        [server.url("object").absoluteString, "-d", "files", "--json"] + more
    }

    /// How the two meet, drawn from a seed.
    struct Meeting: Sendable, CustomTestStringConvertible {
        let seed: UInt64
        /// How many bytes the server has sent when the second starts; 0 for both at once.
        let lag: Int64
        /// How many it has sent when the first is killed, where it is.
        let death: Int64?
        let engine: String

        init(seed: UInt64) {
            var generator = SplitMix64(seed: seed)
            self.seed = seed
            lag = seed.isMultiple(of: 4) ? 0 : Int64.random(in: 1...4 << 20, using: &generator)
            death = seed.isMultiple(of: 2) ? Int64.random(in: lag...5 << 20, using: &generator) : nil
            engine = seed.isMultiple(of: 3) ? "urlsession" : "http-client"
        }

        var testDescription: String { "seed \(seed), \(engine), \(lag) bytes, \(death.map(String.init) ?? "no") death" }
    }

    @Test(arguments: (1...24).map { Meeting(seed: $0) })
    func `leave one whole file, whoever is first and whether or not he lives`(_ meeting: Meeting) async throws {
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
                // A run that has ended before it was killed has ended well.
                #expect(ends[0].status == 0 || meeting.death != nil && ends[0].status == -1, "\(ends[0].error)")
                #expect(ends[1].status == 0, "\(ends[1].error)")
                #expect(try folder.holds(Self.content, at: "files/object"))
                if ends[0].status == -1, try folder.names("files") != ["object"] {
                    // The second was done when the first, which had waited for it, began and was killed.
                    #expect(try await CommandRun(arguments, in: folder).end().status == 0)
                    #expect(try folder.holds(Self.content, at: "files/object"))
                }
                #expect(try folder.names("files") == ["object"])
            }
        }
    }

    @Test func `The second goes on from the bytes of a first that was killed`() async throws {
        try await LoopbackServer.withServer { server in
            try await Folder.with { folder in
                server.serve(
                    Resource(Self.content, entityTag: "\"1\"", script: [[.stall(after: 4 << 20)]]), at: "object")
                let first = try CommandRun(arguments(server), in: folder)
                #expect(await first.told { $0["received"] as? Int == 4 << 20 })
                let second = try CommandRun(arguments(server), in: folder)
                // It has to wait: asked for what another one has, it would have failed here.
                let refused = try await CommandRun(arguments(server, "--in-use", "fail"), in: folder).end()
                #expect(refused.status == 1)
                let failed = try refused.failure()
                #expect(failed.code == "partialInUse")
                #expect(server.requests(at: "object").count == 1)

                first.signal(SIGKILL)
                #expect(try await first.end().status == -1)
                let end = try await second.end()
                #expect(end.status == 0, "\(end.error)")
                let starts = server.requests(at: "object").map(\.start)
                #expect(starts.count == 2)
                #expect(try #require(starts.last) > 3 << 20)
                #expect(try end.fetched() == Self.content.length - (starts.last ?? 0))
                #expect(try folder.holds(Self.content, at: "files/object"))
                #expect(try folder.names("files") == ["object"])
            }
        }
    }

    @Test func `The wait is bounded by the deadline`() async throws {
        try await LoopbackServer.withServer { server in
            try await Folder.with { folder in
                server.serve(
                    Resource(Self.content, entityTag: "\"1\"", script: [[.stall(after: 4 << 20)]]), at: "object")
                let first = try CommandRun(arguments(server), in: folder)
                #expect(await first.told { $0["received"] as? Int == 4 << 20 })
                let second = try await CommandRun(arguments(server, "--deadline", "1"), in: folder).end()
                #expect(second.status == 1)
                let failed = try second.failure()
                #expect(failed.code == "deadlineExceeded")
                server.release("object")
                #expect(try await first.end().status == 0)
                #expect(try folder.holds(Self.content, at: "files/object"))
            }
        }
    }

    @Test func `A body that is longer than allowed is refused`() async throws {
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
