import Foundation
import LoopbackServer
import TestSupport
import Testing

@testable import AsyncDownloads

/// The demands of the subscribers of a shared transfer: a deadline for each, and the longest of their timeouts.
@Suite(.endsWhenHung)
struct DeadlineTests {
    private static let object = InterruptionPoint.object

    private func request(
        _ fixture: LifecycleFixture, to name: String, deadline: Duration? = nil,
        _ change: (inout DownloadRequest) -> Void = { _ in }
    ) throws -> DownloadRequest {
        var request = try fixture.request(to: name)
        request.deadline = deadline.map { TimeLimit($0) }
        change(&request)
        return request
    }

    private func receive(on fixture: LifecycleFixture) async throws -> SteppedExchange {
        await fixture.waitUntilIdle()
        let exchange = try #require(fixture.transport.open.first)
        exchange.answer(Self.object)
        exchange.deliver(InterruptionPoint.byteCount)
        await fixture.waitUntilIdle()
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
    func `a deadline ends only its own subscriber`(_ isFirst: Bool) async throws {
        try await LifecycleFixture.with { fixture async throws in
            let patient = try request(fixture, to: "patient.bin")
            let hurried = try request(fixture, to: "hurried.bin", deadline: .seconds(10))
            let downloads = (isFirst ? [hurried, patient] : [patient, hurried]).map(fixture.downloader.start)
            let (late, other) = isFirst ? (downloads[0], downloads[1]) : (downloads[1], downloads[0])
            let exchange = try await receive(on: fixture)
            fixture.time.advance(by: .seconds(9))
            #expect(late.state == .downloading)
            fixture.time.advance(by: .seconds(1))
            let error = await error(of: late)
            #expect(error?.code == .deadlineExceeded)
            #expect(error?.retainedByteCount == InterruptionPoint.byteCount)
            #expect(!exchange.isCancelled)
            await fixture.finish(other, Self.object)
            #expect(fixture.transport.exchanges.count == 1)
            #expect(fixture.directory.names() == ["patient.bin"])
        }
    }

    @Test(arguments: [AbandonmentPolicy.pause, .finish, .discard])
    func `the deadline of the last subscriber stops the transfer and keeps its bytes`(
        _ policy: AbandonmentPolicy
    ) async throws {
        try await LifecycleFixture.with(configure: { $0.abandonmentPolicy = policy }) { fixture async throws in
            let download = fixture.downloader.start(try request(fixture, to: "file.bin", deadline: .seconds(10)))
            let exchange = try await receive(on: fixture)
            fixture.time.advance(by: .seconds(10))
            #expect(await error(of: download)?.code == .deadlineExceeded)
            #expect(exchange.isCancelled)
            await fixture.endCancelled()
            #expect(try fixture.keptCounts() == [InterruptionPoint.byteCount])
            #expect(fixture.downloader.liveTransfers.isEmpty)
        }
    }

    @Test func `paused time does not count toward a deadline, even while others run`() async throws {
        try await LifecycleFixture.with { fixture async throws in
            let pausing = fixture.downloader.start(try request(fixture, to: "pausing.bin", deadline: .seconds(10)))
            let running = fixture.downloader.start(try request(fixture, to: "running.bin", deadline: .seconds(60)))
            _ = try await receive(on: fixture)
            fixture.time.advance(by: .seconds(6))
            pausing.pause()
            fixture.time.advance(by: .seconds(40))
            #expect(pausing.state == .paused)
            pausing.resume()
            fixture.time.advance(by: .seconds(3))
            #expect(pausing.state == .downloading)
            fixture.time.advance(by: .seconds(1))
            #expect(await error(of: pausing)?.code == .deadlineExceeded)
            #expect(running.state == .downloading)
            fixture.time.advance(by: .seconds(10))
            #expect(await error(of: running)?.code == .deadlineExceeded)
        }
    }

    @Test func `time in the queue and in delays counts toward a deadline`() async throws {
        try await LifecycleFixture.with(configure: { $0.maximumConcurrentTransfers = 1 }) { fixture async throws in
            fixture.downloader.start(try fixture.request("/other", to: "other.bin"))
            let waiting = fixture.downloader.start(try request(fixture, to: "file.bin", deadline: .seconds(10)))
            await fixture.waitUntilIdle()
            #expect(waiting.state == .waiting)
            fixture.time.advance(by: .seconds(10))
            #expect(await error(of: waiting)?.code == .deadlineExceeded)
        }
    }

    @Test func `rule 37: a delay beyond a deadline ends the subscriber at once with the underlying error`()
        async throws
    {
        try await LifecycleFixture.with { fixture async throws in
            let hurried = fixture.downloader.start(try request(fixture, to: "hurried.bin", deadline: .seconds(20)))
            let patient = fixture.downloader.start(try request(fixture, to: "patient.bin", deadline: .seconds(90)))
            await fixture.waitUntilIdle()
            try #require(fixture.transport.open.first).refuse(503, ["Retry-After": "20"])
            let error = await error(of: hurried)
            #expect(error?.code == .deadlineExceeded)
            #expect((error?.underlyingError as? DownloadError)?.statusCode == 503)
            #expect(patient.state == .retrying)
            await fixture.finish(patient, Self.object)
            #expect(patient.state == .completed)
        }
    }

    @Test func `a complete file is placed even if the deadline has passed`() async throws {
        try await LifecycleFixture.with { fixture async throws in
            let download = fixture.downloader.start(try request(fixture, to: "file.bin", deadline: .seconds(10)))
            try await InterruptionPoint.renaming.reach(on: fixture)
            fixture.time.advance(by: .seconds(11))
            fixture.disk.renaming.open()
            #expect(await error(of: download) == nil)
            #expect(fixture.holds(Self.object.content))
        }
    }

    @Test func `the longest idle timeout of all subscribers applies while its subscriber is attached`() async throws {
        try await LifecycleFixture.with { fixture async throws in
            let hasty = fixture.downloader.start(try request(fixture, to: "hasty.bin") { $0.idleTimeout = .seconds(8) })
            let patient = fixture.downloader.start(
                try request(fixture, to: "patient.bin") { $0.idleTimeout = .seconds(40) })
            let exchange = try await receive(on: fixture)
            for _ in 0..<9 { fixture.time.advance(by: .seconds(2)) }
            #expect(!exchange.isCancelled)
            patient.cancel()
            for _ in 0..<2 { fixture.time.advance(by: .seconds(2)) }
            #expect(exchange.isCancelled)
            await fixture.finish(hasty, Self.object)
        }
    }

    @Test func `the most permissive retry policy of all subscribers applies`() async throws {
        try await LifecycleFixture.with { fixture async throws in
            let hasty = fixture.downloader.start(try request(fixture, to: "hasty.bin") { $0.retryPolicy = .never })
            let patient = fixture.downloader.start(try request(fixture, to: "patient.bin"))
            await fixture.waitUntilIdle()
            try #require(fixture.transport.open.first).end(.failed(DownloadError(.connectionLost)))
            await fixture.waitUntilIdle()
            #expect(hasty.state == .retrying)
            await fixture.finish(patient, Self.object)
            #expect(hasty.state == .completed)
        }
    }
}
