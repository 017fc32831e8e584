import Foundation
import LoopbackServer
import TestSupport
import Testing

@testable import AsyncDownloads

/// When a destination is free for another resource.
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

    /// Another resource at the destination "file.bin" ends up there.
    private func replaces(_ stage: LifecycleStage) async throws {
        let download = stage.downloader.start(try stage.request("/other"))
        await stage.performEffects()
        while !download.state.isFinal {
            for exchange in stage.transport.open where exchange.path == "/other" && exchange.object == nil {
                exchange.answer(Self.other)
                await stage.performEffects()
                exchange.deliver(Self.other.content.length)
                exchange.end(.complete)
            }
            for exchange in stage.transport.open where exchange.isCancelled { exchange.end(.cancelled) }
            await Task.yield()
        }
        #expect(download.state == .completed)
        #expect(stage.holds(Self.other.content))
    }

    @Test(arguments: Moment.allCases)
    func `a canceled download's destination is free at once`(_ moment: Moment) async throws {
        try await LifecycleStage.with(configure: { $0.maximumConcurrentTransfers = 1 }) { stage async throws in
            var request = try stage.request()
            request.checksum = Moment.object.content.sha256
            let download = stage.downloader.start(request)
            try await moment.reach(on: stage)
            download.cancel()
            guard moment == .verifying || moment == .renaming else {
                for live in stage.downloader.liveTransfers where live.key.url.hasSuffix("/other") {
                    live.forEachSubscriber { live.detach($0, DownloadError(.cancelled)) }
                }
                return try await replaces(stage)
            }
            // The older file may be placed just now, so the newer one is placed after it.
            let next = stage.downloader.start(try stage.request("/other"))
            #expect(next.state == .waiting)
            stage.disk.reading.open()
            stage.disk.renaming.open()
            await stage.finish(next, Self.other)
            #expect(next.state == .completed)
            #expect(stage.holds(Self.other.content))
        }
    }

    @Test func `a subscriber that leaves frees its destination while the others go on`() async throws {
        try await LifecycleStage.with { stage async throws in
            let leaving = stage.downloader.start(try stage.request())
            let staying = stage.downloader.start(try stage.request(to: "staying.bin"))
            try await Moment.receiving.reach(on: stage)
            leaving.cancel()
            try await replaces(stage)
            await stage.finish(staying, Moment.object)
            #expect(staying.state == .completed)
            #expect(stage.holds(Self.other.content), "the first resource's file is not put there any more")
        }
    }

    @Test func `a destination that two subscribers share is free when both have left`() async throws {
        try await LifecycleStage.with { stage async throws in
            let downloads = try (0..<2).map { _ in stage.downloader.start(try stage.request()) }
            try await Moment.receiving.reach(on: stage)
            downloads[0].cancel()
            #expect(await code(stage.downloader.start(try stage.request("/other"))) == .destinationInUse)
            downloads[1].cancel()
            try await replaces(stage)
        }
    }

    @Test func `a refused duplicate reserves nothing`() async throws {
        try await LifecycleStage.with { stage async throws in
            let running = stage.downloader.start(try stage.request(to: "running.bin"))
            var duplicate = try stage.request()
            duplicate.duplicatePolicy = .reject
            #expect(await code(stage.downloader.start(duplicate)) == .duplicate)
            try await replaces(stage)
            await stage.finish(running, Moment.object)
        }
    }

    @Test(arguments: [true, false])
    func `a paused download that nobody can resume gives its destination up to a new request`(
        _ isHeld: Bool
    ) async throws {
        try await LifecycleStage.with { stage async throws in
            var download: Download? = stage.downloader.start(try stage.request())
            try await Moment.receiving.reach(on: stage)
            download?.pause()
            await stage.endCancelled()
            #expect(download?.state == .paused)
            guard !isHeld else {
                #expect(await code(stage.downloader.start(try stage.request("/other"))) == .destinationInUse)
                download?.cancel()
                return
            }
            download = nil
            try await replaces(stage)
            #expect(try stage.keptCounts() == [Moment.byteCount], "its bytes are kept")
        }
    }

    @Test func `the destination of a transfer that finishes for nobody is taken until it is there`() async throws {
        try await LifecycleStage.with(configure: { $0.abandonmentPolicy = .finish }) { stage async throws in
            let download = stage.downloader.start(try stage.request())
            try await Moment.receiving.reach(on: stage)
            download.cancel()
            #expect(await code(stage.downloader.start(try stage.request("/other"))) == .destinationInUse)
            await stage.step(Moment.object)
            #expect(stage.holds(Moment.object.content))
            try await replaces(stage)
        }
    }
}
