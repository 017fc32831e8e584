import Foundation
import LoopbackServer
import TestSupport
import Testing

@testable import AsyncDownloads

/// Transfers that wait for a delay, a permit, or a fresh URL, and that hold no resources that others need.
@Suite(.endsWhenHung)
struct WaitingTests {
    /// An engine whose requests fail at once.
    private final class FailingTransport: Transport {
        private struct NoExchange: Exchange {
            func cancel() {}
        }

        let windowLength: Int64? = nil
        let decodesContent = false
        let count = Mutex(0)
        private let code: DownloadError.Code

        init(_ code: DownloadError.Code) {
            self.code = code
        }

        func start(
            _ request: ExchangeRequest, beside neighbor: (any Exchange)?, handler: any ExchangeHandler
        ) -> any Exchange {
            count.withLock { $0 += 1 }
            handler.exchangeEnded(.failed(DownloadError(code)))
            return NoExchange()
        }

        func shutdown() async {}
    }

    @Test func `three hundred downloads waiting to retry hold no descriptors and no permits`() async throws {
        let (transport, disk, time) = (FailingTransport(.connectionLost), AuditingFileSystem(), ManualTimeSource())
        let directory = try TemporaryDirectory()
        var configuration = Downloader.Configuration()
        configuration.memoryPressure = .none
        configuration.durability = .processCrash
        let store = PartialStore(disk: disk, durability: .processCrash, bootID: POSIXFileSystem.bootID())
        let downloader = Downloader(configuration: configuration, transport: transport, store: store, time: time)
        let downloads = try (0..<300).map { number in
            let url = try #require(URL(string: "https://origin\(number).example/"))
            return downloader.start(
                DownloadRequest(from: url, to: URL(fileURLWithPath: "\(directory.path)/\(number).bin")))
        }
        while downloads.contains(where: { $0.state != .retrying }) { await Task.yield() }
        while disk.openCount > 0 { await Task.yield() }
        // A transfer sets the timer of its retry after it has closed its file, and then is idle. The number of timers doesn't show
        // that: the ones that watch the exchanges are pending, too.
        while !downloader.liveTransfers.allSatisfy(\.isIdle) { await Task.yield() }
        // The second round of retries finds the partial files again.
        time.advance(by: .seconds(60))
        while transport.count.withLock({ $0 }) < 600 { await Task.yield() }
        await downloader.shutdown()
        #expect(disk.openCount == 0)
        #expect(disk.violations == [])
        #expect(directory.names() == [])
    }

    @Test func `a retry keeps its place in line and emits that it is waiting`() async throws {
        try await LifecycleFixture.with(configure: { $0.maximumConcurrentTransfers = 1 }) { fixture async throws in
            let first = fixture.downloader.start(try fixture.request("/0", to: "0.bin"))
            let events = first.events
            let listening = Task { await EventLog(events) }
            await fixture.waitUntilIdle()
            let others = try (1...3).map { fixture.downloader.start(try fixture.request("/\($0)", to: "\($0).bin")) }
            try #require(fixture.transport.open.first).end(.failed(DownloadError(.connectionLost)))
            await fixture.waitUntilIdle()
            #expect(fixture.transport.open.map(\.path) == ["/1"])
            fixture.time.advance(by: .seconds(60))
            await fixture.waitUntilIdle()
            #expect(first.state == .waiting)
            await fixture.finish(others[0], InterruptionPoint.object)
            #expect(fixture.transport.exchanges.map(\.path).prefix(3) == ["/0", "/1", "/0"])
            for download in others { await fixture.finish(download, InterruptionPoint.object) }
            let log = await listening.value
            let names = log.events.map(\.summary).filter { !$0.hasPrefix("progress") }
            #expect(
                names.prefix(5) == [
                    "waiting", "retrying 1 connectionLost", "waiting", "waiting noResponse", "started 100000 resumable",
                ])
        }
    }

    @Test(arguments: [InterruptionPoint.verifying, .renaming])
    func `a transfer that verifies or places its file lets one other transfer run`(
        _ point: InterruptionPoint
    ) async throws {
        try await LifecycleFixture.with(configure: { $0.maximumConcurrentTransfers = 1 }) { fixture async throws in
            var request = try fixture.request()
            request.checksum = InterruptionPoint.object.content.sha256
            let first = fixture.downloader.start(request)
            let others = try (1...2).map { fixture.downloader.start(try fixture.request("/\($0)", to: "\($0).bin")) }
            try await point.reach(on: fixture)
            while fixture.transport.exchanges.count < 2 { await Task.yield() }
            #expect(fixture.transport.open.map(\.path) == ["/1"])
            #expect(first.state == .verifying)
            #expect(others[1].state == .waiting)
            fixture.disk.reading.open()
            fixture.disk.renaming.open()
            for (download, path) in zip(others, ["1.bin", "2.bin"]) {
                await fixture.finish(download, InterruptionPoint.object)
                #expect(download.state == .completed, "\(path)")
            }
            #expect(try await first.file.byteCount == InterruptionPoint.object.content.length)
        }
    }

    @Test func `a waiting transfer has the highest priority of its subscribers`() async throws {
        try await LifecycleFixture.with(configure: { $0.maximumConcurrentTransfers = 1 }) { fixture async throws in
            let running = fixture.downloader.start(try fixture.request("/running", to: "running.bin"))
            var low = try fixture.request("/low", to: "low.bin")
            low.priority = .low
            let waiting = fixture.downloader.start(low)
            fixture.downloader.start(try fixture.request("/normal", to: "normal.bin"))
            var high = try fixture.request("/low", to: "high.bin")
            high.priority = .high
            let raising = fixture.downloader.start(high)
            await fixture.finish(running, InterruptionPoint.object)
            #expect(fixture.transport.exchanges.map(\.path) == ["/running", "/low"])
            raising.cancel()
            await fixture.finish(waiting, InterruptionPoint.object)
        }
    }

    @Test func `a second request raises the priority of a queued transfer from low to normal`() async throws {
        try await LifecycleFixture.with(configure: { $0.maximumConcurrentTransfers = 1 }) { fixture async throws in
            let running = fixture.downloader.start(try fixture.request("/running", to: "running.bin"))
            var low = try fixture.request("/low", to: "low.bin")
            low.priority = .low
            let waiting = fixture.downloader.start(low)
            let normal = fixture.downloader.start(try fixture.request("/normal", to: "normal.bin"))
            let raising = fixture.downloader.start(try fixture.request("/low", to: "other.bin"))
            await fixture.finish(running, InterruptionPoint.object)
            #expect(fixture.transport.exchanges.map(\.path) == ["/running", "/low"])
            await fixture.finish(waiting, InterruptionPoint.object)
            _ = (normal, raising)
        }
    }

    @Test func `the priority of a canceled subscriber no longer counts`() async throws {
        try await LifecycleFixture.with(configure: { $0.maximumConcurrentTransfers = 1 }) { fixture async throws in
            let running = fixture.downloader.start(try fixture.request("/running", to: "running.bin"))
            var low = try fixture.request("/low", to: "low.bin")
            low.priority = .low
            fixture.downloader.start(low)
            let normal = fixture.downloader.start(try fixture.request("/normal", to: "normal.bin"))
            var high = try fixture.request("/low", to: "high.bin")
            high.priority = .high
            fixture.downloader.start(high).cancel()
            await fixture.finish(running, InterruptionPoint.object)
            #expect(fixture.transport.exchanges.map(\.path) == ["/running", "/normal"])
            await fixture.finish(normal, InterruptionPoint.object)
        }
    }

    @Test func `resumeAll resumes downloads in the order in which they were started`() async throws {
        try await LifecycleFixture.with(configure: { $0.maximumConcurrentTransfers = 1 }) { fixture async throws in
            let downloads = try (0..<20).map {
                fixture.downloader.start(try fixture.request("/\($0)", to: "\($0).bin"))
            }
            fixture.downloader.pauseAll()
            await fixture.endCancelled()
            let before = fixture.transport.exchanges.count
            fixture.downloader.resumeAll()
            for download in downloads { await fixture.finish(download, InterruptionPoint.object) }
            #expect(fixture.transport.exchanges.dropFirst(before).map(\.path) == (0..<20).map { "/\($0)" })
        }
    }

    @Test func `a transfer that waits for a fresh URL holds neither a permit nor an open partial file`() async throws {
        try await LifecycleFixture.with(configure: { $0.maximumConcurrentTransfers = 1 }) { fixture async throws in
            let isAsked = Gate()
            var request = try fixture.request("/signed", to: "signed.bin")
            request.refreshURL = URLRefresh { _ in
                isAsked.open()
                // The closure returns only when its task is canceled.
                try await Task.sleep(for: .seconds(3600))
                throw CancellationError()
            }
            let signed = fixture.downloader.start(request)
            await fixture.waitUntilIdle()
            try #require(fixture.transport.open.first).refuse(403)
            await withCheckedContinuation { continuation in isAsked.onOpen { continuation.resume() } }
            let other = fixture.downloader.start(try fixture.request("/other", to: "other.bin"))
            await fixture.finish(other, InterruptionPoint.object)
            #expect(signed.state == .downloading)
            #expect(fixture.directory.names(hiddenOnly: true) == [])
            // A URL from another source ends the wait.
            try signed.replaceURL(with: fixture.url("/fresh"))
            await fixture.finish(signed, InterruptionPoint.object)
            #expect(fixture.transport.exchanges.map(\.path) == ["/signed", "/other", "/fresh"])
        }
    }

    @Test func `the limit per host applies to the host of the current exchange`() async throws {
        try await LifecycleFixture.with(configure: {
            $0.maximumConcurrentTransfers = 8
            $0.maximumConcurrentTransfersPerHost = 2
        }) { fixture async throws in
            let downloads = try (0..<6).map { number in
                let url = try #require(URL(string: "https://origin\(number).example/\(number)"))
                return fixture.downloader.start(
                    DownloadRequest(from: url, to: URL(fileURLWithPath: "\(fixture.directory.path)/\(number).bin")))
            }
            await fixture.waitUntilIdle()
            #expect(fixture.transport.open.count == 6, "six hosts, one transfer each")
            for exchange in fixture.transport.open {
                exchange.refuse(302, ["Location": "https://target.example\(exchange.path)"])
            }
            await fixture.waitUntilIdle()
            #expect(fixture.transport.open.map(\.request.url.host) == ["target.example", "target.example"])
            // The previous hosts have capacity again.
            let url = try #require(URL(string: "https://origin0.example/more"))
            let more = fixture.downloader.start(
                DownloadRequest(from: url, to: URL(fileURLWithPath: "\(fixture.directory.path)/more.bin")))
            await fixture.waitUntilIdle()
            #expect(fixture.transport.open.count == 3)
            for download in downloads + [more] { await fixture.finish(download, InterruptionPoint.object) }
            #expect(downloads.allSatisfy { $0.state == .completed })
        }
    }

    @Test func `a timer that is no longer needed is canceled`() async throws {
        try await LifecycleFixture.with { fixture async throws in
            let download = fixture.downloader.start(try fixture.request())
            try await InterruptionPoint.backingOff.reach(on: fixture)
            #expect(fixture.time.pendingCount > 0)
            download.pause()
            await fixture.waitUntilIdle()
            #expect(download.state == .paused)
            #expect(fixture.time.delays.allSatisfy { $0 <= .seconds(1) }, "\(fixture.time.delays)")
        }
    }

    @Test func `subscribers are removed when their handles are released`() async throws {
        try await LifecycleFixture.with { fixture async throws in
            let first = fixture.downloader.start(try fixture.request())
            try await InterruptionPoint.receiving.reach(on: fixture)
            for number in 0..<200 {
                let download = fixture.downloader.start(try fixture.request(to: "\(number).bin"))
                if number % 2 == 0 { download.pause() }
                download.cancel()
                #expect(download.state == .cancelled)
            }
            let transfer = try #require(fixture.downloader.liveTransfers.first)
            #expect(transfer.withState { $0.subscribers.ids.count } == 1)
            let held = fixture.downloader.start(try fixture.request(to: "held.bin"))
            let events = held.events
            held.cancel()
            #expect(await EventLog(events).error?.code == .cancelled)
            #expect(held.state == .cancelled)
            await fixture.finish(first, InterruptionPoint.object)
        }
    }
}
