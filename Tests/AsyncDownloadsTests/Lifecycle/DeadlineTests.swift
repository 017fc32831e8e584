import Foundation
import LoopbackServer
import TestSupport
import Testing

@testable import AsyncDownloads

/// What each subscriber demands of a shared transfer: its own deadline, and patience that the most patient decides.
@Suite(.endsWhenHung)
struct DeadlineTests {
    private static let object = Moment.object

    private func request(
        _ stage: LifecycleStage, to name: String, deadline: Duration? = nil,
        _ change: (inout DownloadRequest) -> Void = { _ in }
    ) throws -> DownloadRequest {
        var request = try stage.request(to: name)
        request.deadline = deadline
        change(&request)
        return request
    }

    private func receive(on stage: LifecycleStage) async throws -> SteppedExchange {
        await stage.performEffects()
        let exchange = try #require(stage.transport.open.first)
        exchange.answer(Self.object)
        exchange.deliver(Moment.byteCount)
        await stage.performEffects()
        return exchange
    }

    private func error(of download: Download) async -> DownloadError? {
        do throws(DownloadError) {
            _ = try await download.file
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: [false, true])
    func `a deadline ends its own subscriber and no other`(_ isFirst: Bool) async throws {
        try await LifecycleStage.with { stage async throws in
            let patient = try request(stage, to: "patient.bin")
            let hurried = try request(stage, to: "hurried.bin", deadline: .seconds(10))
            let downloads = (isFirst ? [hurried, patient] : [patient, hurried]).map(stage.downloader.start)
            let (late, other) = isFirst ? (downloads[0], downloads[1]) : (downloads[1], downloads[0])
            let exchange = try await receive(on: stage)
            stage.time.advance(by: .seconds(9))
            #expect(late.state == .downloading)
            stage.time.advance(by: .seconds(1))
            let error = await error(of: late)
            #expect(error?.code == .deadlineExceeded)
            #expect(error?.retainedByteCount == Moment.byteCount)
            #expect(!exchange.isCancelled)
            await stage.finish(other, Self.object)
            #expect(stage.transport.exchanges.count == 1)
            #expect(stage.directory.names() == ["patient.bin"])
        }
    }

    @Test(arguments: [AbandonmentPolicy.pause, .finish, .discard])
    func `when the last subscriber's time is up the transfer stops and keeps its bytes`(
        _ policy: AbandonmentPolicy
    ) async throws {
        try await LifecycleStage.with(configure: { $0.abandonmentPolicy = policy }) { stage async throws in
            let download = stage.downloader.start(try request(stage, to: "file.bin", deadline: .seconds(10)))
            let exchange = try await receive(on: stage)
            stage.time.advance(by: .seconds(10))
            #expect(await error(of: download)?.code == .deadlineExceeded)
            #expect(exchange.isCancelled)
            await stage.endCancelled()
            #expect(try stage.keptCounts() == [Moment.byteCount])
            #expect(stage.downloader.liveTransfers.isEmpty)
        }
    }

    @Test func `the time of a pause does not count, also while others go on`() async throws {
        try await LifecycleStage.with { stage async throws in
            let pausing = stage.downloader.start(try request(stage, to: "pausing.bin", deadline: .seconds(10)))
            let running = stage.downloader.start(try request(stage, to: "running.bin", deadline: .seconds(60)))
            _ = try await receive(on: stage)
            stage.time.advance(by: .seconds(6))
            pausing.pause()
            stage.time.advance(by: .seconds(40))
            #expect(pausing.state == .paused)
            pausing.resume()
            stage.time.advance(by: .seconds(3))
            #expect(pausing.state == .downloading)
            stage.time.advance(by: .seconds(1))
            #expect(await error(of: pausing)?.code == .deadlineExceeded)
            #expect(running.state == .downloading)
            stage.time.advance(by: .seconds(10))
            #expect(await error(of: running)?.code == .deadlineExceeded)
        }
    }

    @Test func `the time in the queue and in delays counts`() async throws {
        try await LifecycleStage.with(configure: { $0.maximumConcurrentTransfers = 1 }) { stage async throws in
            stage.downloader.start(try stage.request("/other", to: "other.bin"))
            let waiting = stage.downloader.start(try request(stage, to: "file.bin", deadline: .seconds(10)))
            await stage.performEffects()
            #expect(waiting.state == .waiting)
            stage.time.advance(by: .seconds(10))
            #expect(await error(of: waiting)?.code == .deadlineExceeded)
        }
    }

    @Test func `rule 37: a delay beyond a deadline ends that subscriber at once, with the reason for the delay`()
        async throws
    {
        try await LifecycleStage.with { stage async throws in
            let hurried = stage.downloader.start(try request(stage, to: "hurried.bin", deadline: .seconds(20)))
            let patient = stage.downloader.start(try request(stage, to: "patient.bin", deadline: .seconds(90)))
            await stage.performEffects()
            try #require(stage.transport.open.first).refuse(503, ["Retry-After": "20"])
            let error = await error(of: hurried)
            #expect(error?.code == .deadlineExceeded)
            #expect((error?.underlyingError as? DownloadError)?.statusCode == 503)
            #expect(patient.state == .retrying)
            await stage.finish(patient, Self.object)
            #expect(patient.state == .completed)
        }
    }

    @Test func `what is complete when the deadline comes is finished`() async throws {
        try await LifecycleStage.with { stage async throws in
            let download = stage.downloader.start(try request(stage, to: "file.bin", deadline: .seconds(10)))
            try await Moment.renaming.reach(on: stage)
            stage.time.advance(by: .seconds(11))
            stage.disk.renaming.open()
            #expect(await error(of: download) == nil)
            #expect(stage.holds(Self.object.content))
        }
    }

    @Test func `of the idle timeouts the most patient counts, as long as it is there`() async throws {
        try await LifecycleStage.with { stage async throws in
            let hasty = stage.downloader.start(try request(stage, to: "hasty.bin") { $0.idleTimeout = .seconds(8) })
            let patient = stage.downloader.start(
                try request(stage, to: "patient.bin") { $0.idleTimeout = .seconds(40) })
            let exchange = try await receive(on: stage)
            for _ in 0..<9 { stage.time.advance(by: .seconds(2)) }
            #expect(!exchange.isCancelled)
            patient.cancel()
            for _ in 0..<2 { stage.time.advance(by: .seconds(2)) }
            #expect(exchange.isCancelled)
            await stage.finish(hasty, Self.object)
        }
    }

    @Test func `of the retry policies the most patient counts`() async throws {
        try await LifecycleStage.with { stage async throws in
            let hasty = stage.downloader.start(try request(stage, to: "hasty.bin") { $0.retryPolicy = .never })
            let patient = stage.downloader.start(try request(stage, to: "patient.bin"))
            await stage.performEffects()
            try #require(stage.transport.open.first).end(.failed(DownloadError(.connectionLost)))
            await stage.performEffects()
            #expect(hasty.state == .retrying)
            await stage.finish(patient, Self.object)
            #expect(hasty.state == .completed)
        }
    }
}
