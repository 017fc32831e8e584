import Foundation
import LoopbackServer
import TestSupport
import Testing

@testable import AsyncDownloads

/// Pauses and cancellations at each point of a download (rules 54 and 55).
@Suite(.endsWhenHung)
struct PauseAndCancelTests {
    /// A point at which a download can be interrupted.
    enum InterruptionPoint: String, CaseIterable, Sendable {
        case permit, head, firstByte, body, lastByte, delay, redirect

        static let content = Content(seed: 12, length: 3_000_000)

        /// The response to the first request.
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

        /// The number of bytes that have been received.
        var received: Int64 {
            switch self {
            case .permit, .head, .delay, .redirect: 0
            case .firstByte: 1
            case .body: 1_500_000
            case .lastByte: Self.content.length - 1
            }
        }
    }

    /// Returns a download that has reached the point and makes no progress without the test.
    private func download(
        _ environment: TestEnvironment, _ point: InterruptionPoint, _ time: ManualTimeSource
    ) async throws -> Download {
        environment.server.serve(
            Resource(InterruptionPoint.content, entityTag: "\"a\"", script: [point.step]), at: "/one")
        environment.server.serve(
            Resource(InterruptionPoint.content, entityTag: "\"a\"", script: [[.holdHead]]), at: "/elsewhere")
        if point == .permit {
            environment.server.serve(Resource(Content(seed: 1, length: 1), script: [[.holdHead]]), at: "/other")
            environment.downloader.start(environment.request("/other", to: "other.bin"))
        }
        let download = environment.downloader.start(environment.request("/one"))
        switch point {
        case .permit: _ = await environment.server.requests(at: "/other", reaching: 1)
        case .head: _ = await environment.server.requests(at: "/one", reaching: 1)
        case .redirect: _ = await environment.server.requests(at: "/elsewhere", reaching: 1)
        case .delay: await time.timer(ofAtLeast: .seconds(100))
        case .firstByte, .body, .lastByte:
            for try await event in download.events {
                if case .progress(let progress) = event, progress.receivedByteCount >= point.received { break }
            }
        }
        return download
    }

    /// Returns the number of bytes of the download that another process would find.
    private func recorded(in environment: TestEnvironment) throws -> Int64 {
        let found = try PartialStore(durability: .processCrash).unfinished(
            in: environment.directory.path, trustsDestinations: false)
        // The download that had the permit may have received bytes as well.
        return found.filter { $0.location.baseName == "file.bin" }.reduce(0) { $0 + $1.received.count }
    }

    @Test(arguments: Engine.allCases, InterruptionPoint.allCases)
    func `rule 54: a pause is emitted when the bytes are on disk, and resuming fetches the rest`(
        _ engine: Engine, _ point: InterruptionPoint
    ) async throws {
        let time = ManualTimeSource()
        try await TestEnvironment.with(
            engine, time: time, configure: { $0.maximumConcurrentTransfers = point == .permit ? 1 : 6 }
        ) { environment async throws in
            let download = try await download(environment, point, time)
            download.pause()
            for try await event in download.events {
                if case .paused(let count) = event {
                    #expect(count == point.received)
                    break
                }
            }
            #expect(download.state == .paused)
            #expect(try recorded(in: environment) == point.received)
            for path in ["/one", "/other", "/elsewhere"] { environment.server.release(path) }
            // The host has asked for this time without a request, which resuming doesn't shorten.
            if point == .delay { time.advance(by: .seconds(600)) }
            download.resume()
            #expect(try await download.file.byteCount == InterruptionPoint.content.length)
            #expect(try environment.holds(InterruptionPoint.content))
            let offsets = environment.server.requests(at: "/one").map(offset(of:))
            #expect(offsets.last == point.received, "\(offsets)")
        }
    }

    @Test(arguments: Engine.allCases, InterruptionPoint.allCases)
    func `rule 55: after a cancellation nothing is written and nothing completes`(
        _ engine: Engine, _ point: InterruptionPoint
    ) async throws {
        let time = ManualTimeSource()
        try await TestEnvironment.with(
            engine, time: time, configure: { $0.maximumConcurrentTransfers = point == .permit ? 1 : 6 }
        ) { environment async throws in
            let download = try await download(environment, point, time)
            download.cancel()
            // The server sends the rest of the response too late.
            for path in ["/one", "/other", "/elsewhere"] { environment.server.release(path) }
            time.advance(by: .seconds(100))
            let error = await #expect(throws: DownloadError.self) { try await download.file }
            #expect(error?.code == .cancelled)
            #expect(error?.retainedByteCount == point.received)
            await environment.downloader.shutdown()
            #expect(download.state == .cancelled)
            #expect(try !environment.leftovers.contains("file.bin"))
            #expect(try recorded(in: environment) == point.received)
        }
    }
}
