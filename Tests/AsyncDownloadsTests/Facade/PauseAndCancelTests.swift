import AsyncDownloads
import Foundation
import LoopbackServer
import TestSupport
import Testing

/// Pausing and leaving at every moment of a download's life (rules 54 and 55).
@Suite(.endsWhenHung)
struct PauseAndCancelTests {
    /// Where a download stands when somebody intervenes.
    enum Moment: String, CaseIterable, Sendable {
        case permit, head, firstByte, body, lastByte, delay, redirect

        static let content = Content(seed: 12, length: 3_000_000)

        /// What the first request is answered with.
        var step: Step {
            switch self {
            case .permit: .plain
            case .head: [.holdHead]
            case .firstByte: [.stall(after: 1)]
            case .body: [.stall(after: 1_500_000)]
            case .lastByte: [.stall(after: Self.content.length - 1)]
            case .delay: [.retryAfter("100")]
            case .redirect: [.redirect(location: "/elsewhere")]
            }
        }

        /// The bytes that are there.
        var received: Int64 {
            switch self {
            case .permit, .head, .delay, .redirect: 0
            case .firstByte: 1
            case .body: 1_500_000
            case .lastByte: Self.content.length - 1
            }
        }
    }

    /// A download that has come to the moment and goes no further by itself.
    private func download(
        _ environment: TestEnvironment, _ moment: Moment, _ time: ManualTimeSource
    ) async throws -> Download {
        environment.server.serve(Resource(Moment.content, entityTag: "\"a\"", script: [moment.step]), at: "/one")
        environment.server.serve(Resource(Moment.content, entityTag: "\"a\"", script: [[.holdHead]]), at: "/elsewhere")
        if moment == .permit {
            environment.server.serve(Resource(Content(seed: 1, length: 1), script: [[.holdHead]]), at: "/other")
            environment.downloader.start(environment.request("/other", to: "other.bin"))
        }
        let download = environment.downloader.start(environment.request("/one"))
        switch moment {
        case .permit: _ = await environment.server.requests(at: "/other", reaching: 1)
        case .head: _ = await environment.server.requests(at: "/one", reaching: 1)
        case .redirect: _ = await environment.server.requests(at: "/elsewhere", reaching: 1)
        case .delay: await time.timer(ofAtLeast: .seconds(100))
        case .firstByte, .body, .lastByte:
            for try await event in download.events {
                if case .progress(let progress) = event, progress.receivedByteCount >= moment.received { break }
            }
        }
        return download
    }

    /// How many bytes another process would find.
    private func recorded(in environment: TestEnvironment) throws -> Int64 {
        let store = DiskStore(durability: .processCrash)
        return try store.unfinished(in: environment.directory.path, trustsDestinations: false).reduce(0) {
            $0 + $1.received.count
        }
    }

    @Test(arguments: Engine.allCases, Moment.allCases)
    func `rule 54: a pause is told when the bytes are on disk, and the rest is fetched after it`(
        _ engine: Engine, _ moment: Moment
    ) async throws {
        let time = ManualTimeSource()
        try await TestEnvironment.with(
            engine, time: time, configure: { $0.maximumConcurrentTransfers = moment == .permit ? 1 : 6 }
        ) { environment async throws in
            let download = try await download(environment, moment, time)
            download.pause()
            for try await event in download.events {
                if case .paused(let count) = event {
                    #expect(count == moment.received)
                    break
                }
            }
            #expect(download.state == .paused)
            #expect(try recorded(in: environment) == moment.received)
            for path in ["/one", "/other", "/elsewhere"] { environment.server.release(path) }
            download.resume()
            #expect(try await download.file.byteCount == Moment.content.length)
            #expect(try environment.holds(Moment.content))
            let offsets = environment.server.requests(at: "/one").map(offset(of:))
            #expect(offsets.last == moment.received, "\(offsets)")
        }
    }

    @Test(arguments: Engine.allCases, Moment.allCases)
    func `rule 55: after a cancellation nothing is written and nothing completes`(
        _ engine: Engine, _ moment: Moment
    ) async throws {
        let time = ManualTimeSource()
        try await TestEnvironment.with(
            engine, time: time, configure: { $0.maximumConcurrentTransfers = moment == .permit ? 1 : 6 }
        ) { environment async throws in
            let download = try await download(environment, moment, time)
            download.cancel()
            // What was held back comes now, too late.
            for path in ["/one", "/other", "/elsewhere"] { environment.server.release(path) }
            time.advance(by: .seconds(100))
            let error = await #expect(throws: DownloadError.self) { try await download.file }
            #expect(error?.code == .cancelled)
            #expect(error?.retainedByteCount == moment.received)
            await environment.downloader.shutdown()
            #expect(download.state == .cancelled)
            #expect(try !environment.leftovers.contains("file.bin"))
            #expect(try recorded(in: environment) == moment.received)
        }
    }
}
