internal import Crypto
internal import Foundation
internal import LoopbackServer
internal import TestSupport
internal import Testing

@testable internal import AsyncDownloads
@testable internal import batch

/// Tests of a download that is killed at seeded moments and continued each time (rules 38, 41, 54).
@Suite(.endsWhenHung(minutes: 12), .serialized)
struct SuddenKillTests {
    /// A sequence of runs that download one file, until a number of runs were killed.
    struct Chain: Sendable, CustomTestStringConvertible {
        static let kills = 10

        let engine: Engine
        let seed: UInt64

        /// Whether the runs verify a digest, which prolongs the time between the last byte and the rename.
        var hasChecksum: Bool { seed.isMultiple(of: 2) }
        var name: String { engine.rawValue }
        var testDescription: String { "\(name), seed \(seed)" }
    }

    private static let content = Content(seed: 64, length: 64 << 20)
    private static let chains = Seeds.first(5).map { seed in
        Chain(engine: seed % 5 == 4 ? .urlSession : .platformDefault, seed: seed)
    }
    private static let digest: String = {
        var hash = SHA256()
        for start in stride(from: 0, to: content.length, by: 1 << 20) {
            hash.update(data: content.bytes(in: start..<start + 1 << 20))
        }
        return hash.finalize().map { String(format: "%02x", $0) }.joined()
    }()

    @Test(arguments: chains)
    func `a download that is killed ten times at any moment produces a complete file`(_ chain: Chain) async throws {
        try await LoopbackServer.withServer { server in
            try await Folder.with { folder in
                var arguments = [
                    // Bytes behind a gap would be requested once only, whenever a run was killed before.
                    server.url("object").absoluteString, "-d", "files", "-x", "1", "--json", "--engine", chain.name,
                ]
                if chain.hasChecksum { arguments += ["--checksum", "sha-256=\(Self.digest)"] }
                var generator = SplitMix64(seed: chain.seed)
                var (kills, kept) = (0, Int64(0))
                while kills < Chain.kills {
                    let moment = KillMoment(
                        after: kept, of: Self.content.length, others: Chain.kills - kills - 1, using: &generator)
                    let (before, began) = (server.requests(at: "object").count, kept)
                    let end = try await kill(CommandRun(arguments, in: folder), at: moment, chain, server)
                    let status = end.status
                    let requests = server.requests(at: "object").dropFirst(before)
                    try #require([-1, 0, 130].contains(status), "\(moment)")
                    if let first = requests.first { #expect(first.start == kept, "\(moment)") }
                    if status == -1 { kills += 1 }
                    if status == 0 {
                        try checkEnd(folder)
                    } else if FileManager.default.fileExists(atPath: folder.url("files/object").path) {
                        try await checkReuse(arguments, folder, server)
                    }
                    kept = try Remains(in: folder.url("files"), of: Self.content).received.prefixEnd
                    if status == 130 {
                        let paused = try end.events().last { $0["event"] as? String == "paused" }
                        #expect(
                            paused?["received"] as? Int64 == kept && kept >= began,
                            "\(moment): from \(began), kept \(kept), \(end.output.suffix(500))")
                    }
                }
                server.serve(Resource(Self.content, entityTag: "\"1\""), at: "object")
                let end = try await CommandRun(arguments, in: folder).end()
                #expect(end.status == 0, "\(end.error)")
                try checkEnd(folder)
            }
        }
    }

    /// Starts a run and kills it at the given moment; the exit status is -1 if the run had not ended before.
    private func kill(
        _ run: @autoclosure () throws -> CommandRun, at moment: KillMoment, _ chain: Chain, _ server: LoopbackServer
    ) async throws -> CommandRun.End {
        let window = chain.engine == .urlSession ? URLSessionTransport().windowLength : nil
        server.serve(
            Resource(Self.content, entityTag: "\"1\"", script: moment.script(window: window)), at: "object")
        let (requests, sent) = (server.requests(at: "object").count, server.bodyBytesSent(at: "object"))
        let run = try run()
        switch moment.phase {
        case .beforeHead: _ = await server.requests(at: "object", reaching: requests + 1)
        case .body, .pause: await server.bodyBytesSent(at: "object", reaching: sent + moment.advance)
        case .checkpoint: await run.printed { $0["event"] as? String == "retrying" }
        case .finish: await run.printed { $0["received"] as? Int == Int(Self.content.length) }
        }
        if moment.phase == .pause { run.signal(SIGINT) }
        // The test does not depend on this delay, which only varies the point of the kill within the phase.
        try await Task.sleep(for: moment.spread)
        run.signal(SIGKILL)
        return try await run.end()
    }

    /// Checks that a run that follows a kill after the rename uses the file, and removes what the kill has left.
    private func checkReuse(_ arguments: [String], _ folder: Folder, _ server: LoopbackServer) async throws {
        server.serve(Resource(Self.content, entityTag: "\"1\""), at: "object")
        let sent = server.bodyBytesSent(at: "object")
        let end = try await CommandRun(arguments, in: folder).end()
        #expect(end.status == 0, "\(end.error)")
        #expect(server.bodyBytesSent(at: "object") == sent)
        try checkEnd(folder)
    }

    /// Checks that the directory contains the complete file only, and removes it for the next run.
    private func checkEnd(_ folder: Folder) throws {
        #expect(try folder.holds(Self.content, at: "files/object"))
        #expect(try folder.names("files") == ["object"])
        try FileManager.default.removeItem(at: folder.url("files/object"))
    }
}

extension RecordedRequest {
    /// The start of the requested range; 0 if the request has no Range.
    var start: Int64 {
        let bounds = self["Range"]?.dropFirst("bytes=".count).split(separator: "-")
        return bounds?.first.flatMap { Int64($0) } ?? 0
    }
}
