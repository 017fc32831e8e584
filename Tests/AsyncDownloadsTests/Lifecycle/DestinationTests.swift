import Foundation
import LoopbackServer
import TestSupport
import Testing

@testable import AsyncDownloads

/// The release of destinations for other resources.
@Suite(.endsWhenHung)
struct DestinationTests {
    private static let other = SteppedObject(content: Content(seed: 12, length: 50_000), tag: "\"o\"")

    private func code(_ download: Download) async -> DownloadError.Code? {
        do throws(DownloadError) {
            _ = try await download.file
            return nil
        } catch {
            return error.code
        }
    }

    /// Checks that another resource can be downloaded to the destination "file.bin".
    private func replaces(_ fixture: LifecycleFixture) async throws {
        let download = fixture.downloader.start(try fixture.request("/other"))
        await fixture.waitUntilIdle()
        while !download.state.isFinal {
            for exchange in fixture.transport.open where exchange.path == "/other" && exchange.object == nil {
                exchange.answer(Self.other)
                await fixture.waitUntilIdle()
                exchange.deliver(Self.other.content.length)
                exchange.end(.complete)
            }
            for exchange in fixture.transport.open where exchange.isCancelled { exchange.end(.cancelled) }
            await Task.yield()
        }
        #expect(download.state == .completed)
        #expect(fixture.holds(Self.other.content))
    }

    @Test(arguments: InterruptionPoint.allCases)
    func `the destination of a canceled download is free at once`(_ point: InterruptionPoint) async throws {
        try await LifecycleFixture.with(configure: { $0.maximumConcurrentTransfers = 1 }) { fixture async throws in
            var request = try fixture.request()
            request.checksum = InterruptionPoint.object.content.sha256
            let download = fixture.downloader.start(request)
            try await point.reach(on: fixture)
            download.cancel()
            guard point == .verifying || point == .renaming else {
                for live in fixture.downloader.liveTransfers where live.request.url.path == "/other" {
                    for id in live.activeSubscribers {
                        live.detach(id, DownloadError(.cancelled), keepingBytes: true)
                    }
                }
                return try await replaces(fixture)
            }
            // The older file may be placed right now, so the newer one is placed after it, although it runs meanwhile.
            let next = fixture.downloader.start(try fixture.request("/other"))
            while !fixture.transport.open.contains(where: { $0.path == "/other" }) { await Task.yield() }
            let newer = try #require(fixture.transport.open.first { $0.path == "/other" })
            newer.answer(Self.other)
            newer.deliver(Self.other.content.length)
            newer.end(.complete)
            while next.state != .verifying { await Task.yield() }
            fixture.disk.reading.open()
            fixture.disk.renaming.open()
            await fixture.finish(next, Self.other)
            #expect(next.state == .completed)
            #expect(fixture.holds(Self.other.content))
        }
    }

    @Test func `a canceled subscriber releases its destination while the others continue`() async throws {
        try await LifecycleFixture.with { fixture async throws in
            let canceled = fixture.downloader.start(try fixture.request())
            let remaining = fixture.downloader.start(try fixture.request(to: "remaining.bin"))
            try await InterruptionPoint.receiving.reach(on: fixture)
            canceled.cancel()
            try await replaces(fixture)
            await fixture.finish(remaining, InterruptionPoint.object)
            #expect(remaining.state == .completed)
            #expect(fixture.holds(Self.other.content), "the first resource's file is not placed")
        }
    }

    @Test func `a destination that two subscribers share is free after both are canceled`() async throws {
        try await LifecycleFixture.with { fixture async throws in
            let downloads = try (0..<2).map { _ in fixture.downloader.start(try fixture.request()) }
            try await InterruptionPoint.receiving.reach(on: fixture)
            downloads[0].cancel()
            #expect(await code(fixture.downloader.start(try fixture.request("/other"))) == .destinationInUse)
            downloads[1].cancel()
            try await replaces(fixture)
        }
    }

    @Test func `a refused duplicate reserves nothing`() async throws {
        try await LifecycleFixture.with { fixture async throws in
            let running = fixture.downloader.start(try fixture.request(to: "running.bin"))
            var duplicate = try fixture.request()
            duplicate.duplicatePolicy = .reject
            #expect(await code(fixture.downloader.start(duplicate)) == .duplicate)
            try await replaces(fixture)
            await fixture.finish(running, InterruptionPoint.object)
        }
    }

    @Test(arguments: [true, false])
    func `a paused download without a handle releases its destination to a new request`(
        _ isHeld: Bool
    ) async throws {
        try await LifecycleFixture.with { fixture async throws in
            var download: Download? = fixture.downloader.start(try fixture.request())
            try await InterruptionPoint.receiving.reach(on: fixture)
            download?.pause()
            await fixture.endCancelled()
            #expect(download?.state == .paused)
            guard !isHeld else {
                #expect(await code(fixture.downloader.start(try fixture.request("/other"))) == .destinationInUse)
                download?.cancel()
                return
            }
            download = nil
            try await replaces(fixture)
            #expect(try fixture.keptCounts() == [InterruptionPoint.byteCount], "the bytes are kept")
        }
    }

    @Test func `a download keeps its destination if only an equivalent name is needed`() async throws {
        try await LifecycleFixture.with { fixture async throws in
            let (composed, decomposed) = ("\u{E9}.bin", "e\u{301}.bin")
            let held = fixture.downloader.start(try fixture.request(to: composed))
            var released: Download? = fixture.downloader.start(try fixture.request(to: decomposed))
            try await InterruptionPoint.receiving.reach(on: fixture)
            for download in [held, released] { download?.pause() }
            await fixture.endCancelled()
            released = nil
            let other = fixture.downloader.start(try fixture.request("/other", to: decomposed))
            await fixture.finish(other, Self.other)
            #expect(other.state == .completed)
            #expect(held.state == .paused)
            held.cancel()
        }
    }

    @Test func `the destination of a transfer that finishes without subscribers is reserved until its end`()
        async throws
    {
        try await LifecycleFixture.with(configure: { $0.abandonmentPolicy = .finish }) { fixture async throws in
            let download = fixture.downloader.start(try fixture.request())
            try await InterruptionPoint.receiving.reach(on: fixture)
            download.cancel()
            #expect(await code(fixture.downloader.start(try fixture.request("/other"))) == .destinationInUse)
            await fixture.step(InterruptionPoint.object)
            #expect(fixture.holds(InterruptionPoint.object.content))
            try await replaces(fixture)
        }
    }
}
