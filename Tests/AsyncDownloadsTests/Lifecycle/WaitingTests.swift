import Foundation
import LoopbackServer
import TestSupport
import Testing

@testable import AsyncDownloads

/// Transfers that wait for a delay, for their turn or for a fresh URL hold nothing that others need.
@Suite(.endsWhenHung)
struct WaitingTests {
    /// An engine that cannot connect.
    private final class OfflineTransport: Transport {
        private struct NoExchange: Exchange {
            func cancel() {}
        }

        let windowLength: Int64? = nil
        let decodesContent = false
        let count = Mutex(0)

        func start(_ request: ExchangeRequest, handler: any ExchangeHandler) -> any Exchange {
            count.withLock { $0 += 1 }
            handler.exchangeEnded(.failed(DownloadError(.cannotConnect)))
            return NoExchange()
        }

        func shutdown() async {}
    }

    @Test func `a thousand downloads in back-off hold no descriptor and no permit`() async throws {
        let (transport, disk, time) = (OfflineTransport(), AuditingFileSystem(), ManualTimeSource())
        let directory = try TemporaryDirectory()
        var configuration = Downloader.Configuration()
        configuration.memoryPressure = .none
        configuration.durability = .processCrash
        let store = DiskStore(disk: disk, durability: .processCrash, bootID: POSIXFileSystem.bootID())
        let downloader = Downloader(configuration: configuration, transport: transport, store: store, time: time)
        let downloads = try (0..<1000).map { number in
            let url = try #require(URL(string: "https://origin.example/\(number)"))
            return downloader.start(
                DownloadRequest(from: url, to: URL(fileURLWithPath: "\(directory.path)/\(number).bin")))
        }
        while downloads.contains(where: { $0.state != .retrying }) { await Task.yield() }
        while disk.openCount > 0 { await Task.yield() }
        #expect(disk.largestOpenCount <= 64, "as many as have a permit, and those that are being closed")
        // A second round finds its places again.
        time.advance(by: .seconds(60))
        while transport.count.withLock({ $0 }) < 2000 { await Task.yield() }
        await downloader.shutdown()
        #expect(disk.openCount == 0)
        #expect(disk.violations == [])
        #expect(directory.names() == [])
    }

    @Test func `a retry keeps its place in line, and is told that it waits`() async throws {
        try await LifecycleStage.with(configure: { $0.maximumConcurrentTransfers = 1 }) { stage async throws in
            let first = stage.downloader.start(try stage.request("/0", to: "0.bin"))
            let events = first.events
            let listening = Task { await EventLog(events) }
            await stage.performEffects()
            let others = try (1...3).map { stage.downloader.start(try stage.request("/\($0)", to: "\($0).bin")) }
            try #require(stage.transport.open.first).end(.failed(DownloadError(.connectionLost)))
            await stage.performEffects()
            #expect(stage.transport.open.map(\.path) == ["/1"])
            stage.time.advance(by: .seconds(60))
            await stage.performEffects()
            #expect(first.state == .waiting)
            await stage.finish(others[0], Moment.object)
            #expect(stage.transport.exchanges.map(\.path).prefix(3) == ["/0", "/1", "/0"])
            for download in others { await stage.finish(download, Moment.object) }
            let log = await listening.value
            let names = log.events.map(\.summary).filter { !$0.hasPrefix("progress") }
            #expect(names.prefix(4) == ["waiting", "retrying 1 connectionLost", "waiting", "started 100000 resumable"])
        }
    }

    @Test func `a waiting transfer has the highest priority of its subscribers`() async throws {
        try await LifecycleStage.with(configure: { $0.maximumConcurrentTransfers = 1 }) { stage async throws in
            let running = stage.downloader.start(try stage.request("/running", to: "running.bin"))
            var low = try stage.request("/low", to: "low.bin")
            low.priority = .low
            let waiting = stage.downloader.start(low)
            stage.downloader.start(try stage.request("/normal", to: "normal.bin"))
            var high = try stage.request("/low", to: "high.bin")
            high.priority = .high
            let raising = stage.downloader.start(high)
            await stage.finish(running, Moment.object)
            #expect(stage.transport.exchanges.map(\.path) == ["/running", "/low"])
            raising.cancel()
            await stage.finish(waiting, Moment.object)
        }
    }

    @Test func `a subscriber that leaves takes its priority with it`() async throws {
        try await LifecycleStage.with(configure: { $0.maximumConcurrentTransfers = 1 }) { stage async throws in
            let running = stage.downloader.start(try stage.request("/running", to: "running.bin"))
            var low = try stage.request("/low", to: "low.bin")
            low.priority = .low
            stage.downloader.start(low)
            let normal = stage.downloader.start(try stage.request("/normal", to: "normal.bin"))
            var high = try stage.request("/low", to: "high.bin")
            high.priority = .high
            stage.downloader.start(high).cancel()
            await stage.finish(running, Moment.object)
            #expect(stage.transport.exchanges.map(\.path) == ["/running", "/normal"])
            await stage.finish(normal, Moment.object)
        }
    }

    @Test func `resuming all goes by the order of the start`() async throws {
        try await LifecycleStage.with(configure: { $0.maximumConcurrentTransfers = 1 }) { stage async throws in
            let downloads = try (0..<20).map { stage.downloader.start(try stage.request("/\($0)", to: "\($0).bin")) }
            stage.downloader.pauseAll()
            await stage.endCancelled()
            let before = stage.transport.exchanges.count
            stage.downloader.resumeAll()
            for download in downloads { await stage.finish(download, Moment.object) }
            #expect(stage.transport.exchanges.dropFirst(before).map(\.path) == (0..<20).map { "/\($0)" })
        }
    }

    @Test func `who waits for a fresh URL keeps neither a permit nor an open partial`() async throws {
        try await LifecycleStage.with(configure: { $0.maximumConcurrentTransfers = 1 }) { stage async throws in
            let isAsked = Gate()
            var request = try stage.request("/signed", to: "signed.bin")
            request.refreshURL = URLRefresh { _ in
                isAsked.open()
                // It answers when the task is cancelled, and not before.
                try await Task.sleep(for: .seconds(3600))
                throw CancellationError()
            }
            let signed = stage.downloader.start(request)
            await stage.performEffects()
            try #require(stage.transport.open.first).refuse(403)
            await withCheckedContinuation { continuation in isAsked.whenOpen { continuation.resume() } }
            let other = stage.downloader.start(try stage.request("/other", to: "other.bin"))
            await stage.finish(other, Moment.object)
            #expect(signed.state == .downloading)
            #expect(stage.directory.names(hiddenOnly: true) == [])
            // A URL from elsewhere ends the wait.
            try signed.replaceURL(with: stage.url("/fresh"))
            await stage.finish(signed, Moment.object)
            #expect(stage.transport.exchanges.map(\.path) == ["/signed", "/other", "/fresh"])
        }
    }

    @Test func `the limit of a host is that of the one that is talked to`() async throws {
        try await LifecycleStage.with(configure: {
            $0.maximumConcurrentTransfers = 8
            $0.maximumConcurrentTransfersPerHost = 2
        }) { stage async throws in
            let downloads = try (0..<6).map { number in
                let url = try #require(URL(string: "https://origin\(number).example/\(number)"))
                return stage.downloader.start(
                    DownloadRequest(from: url, to: URL(fileURLWithPath: "\(stage.directory.path)/\(number).bin")))
            }
            await stage.performEffects()
            #expect(stage.transport.open.count == 6, "six hosts, one transfer each")
            for exchange in stage.transport.open {
                exchange.refuse(302, ["Location": "https://target.example\(exchange.path)"])
            }
            await stage.performEffects()
            #expect(stage.transport.open.map(\.request.url.host) == ["target.example", "target.example"])
            // The hosts that they have left are free.
            let url = try #require(URL(string: "https://origin0.example/more"))
            let more = stage.downloader.start(
                DownloadRequest(from: url, to: URL(fileURLWithPath: "\(stage.directory.path)/more.bin")))
            await stage.performEffects()
            #expect(stage.transport.open.count == 3)
            for download in downloads + [more] { await stage.finish(download, Moment.object) }
            #expect(downloads.allSatisfy { $0.state == .completed })
        }
    }

    @Test func `a timer that nobody waits for any more is let go of`() async throws {
        try await LifecycleStage.with { stage async throws in
            let download = stage.downloader.start(try stage.request())
            try await Moment.backingOff.reach(on: stage)
            #expect(stage.time.pendingCount > 0)
            download.pause()
            await stage.performEffects()
            #expect(download.state == .paused)
            #expect(stage.time.delays.allSatisfy { $0 <= .seconds(1) }, "\(stage.time.delays)")
        }
    }

    @Test func `subscribers are forgotten with their handles`() async throws {
        try await LifecycleStage.with { stage async throws in
            let first = stage.downloader.start(try stage.request())
            try await Moment.receiving.reach(on: stage)
            for number in 0..<1000 {
                let download = stage.downloader.start(try stage.request(to: "\(number).bin"))
                if number % 2 == 0 { download.pause() }
                download.cancel()
                #expect(download.state == .cancelled)
            }
            let transfer = try #require(stage.downloader.liveTransfers.first)
            #expect(transfer.withState { $0.subscribers.all.count } == 1)
            let held = stage.downloader.start(try stage.request(to: "held.bin"))
            let events = held.events
            held.cancel()
            #expect(await EventLog(events).error?.code == .cancelled)
            #expect(held.state == .cancelled)
            await stage.finish(first, Moment.object)
        }
    }
}
