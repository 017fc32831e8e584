import Foundation
import LoopbackServer
import TestSupport
import Testing

@testable import AsyncDownloads

/// Responses that are accepted, but that no running subscriber can use when their body arrives.
@Suite(.endsWhenHung)
struct RefusedHeadTests {
    private static let first = SteppedObject(content: Content(seed: 1, length: 100_000), tag: "\"1\"")
    private static let second = SteppedObject(content: Content(seed: 2, length: 90_000), tag: "\"2\"")
    private static let third = SteppedObject(content: Content(seed: 3, length: 80_000), tag: "\"3\"")

    @Test func `bytes that are not wanted are not counted against the bandwidth limit`() async throws {
        let object = SteppedObject(content: Content(seed: 84, length: 3 << 20), tag: "\"1\"")
        try await LifecycleFixture.with(configure: { $0.bandwidthLimit = .bytesPerSecond(1 << 20) }) {
            fixture async throws in
            let download = fixture.downloader.start(try fixture.request())
            await fixture.waitUntilIdle()
            fixture.transport.exchanges[0].answer(object)
            await fixture.waitUntilIdle()
            download.pause()
            await fixture.waitUntilIdle()
            fixture.transport.exchanges[0].deliver(100_000)
            #expect(fixture.downloader.environment.bandwidth.receivedCount == 0)
            #expect(!fixture.transport.exchanges[0].isHeldBack)
            download.cancel()
        }
    }

    @Test func `a representation that is refused because of a stop is not started by a later response`() async throws {
        let directory = try TemporaryDirectory()
        let (disk, otherDisk) = (AuditingFileSystem(), AuditingFileSystem())
        let (engine, otherEngine) = (SteppedTransport(), SteppedTransport())
        let downloader = makeDownloader(engine, disk)
        let other = makeDownloader(otherEngine, otherDisk)
        let url = try #require(URL(string: "https://origin.example/one"))
        let file = URL(fileURLWithPath: "\(directory.path)/file.bin")

        // One subscriber accepts few bytes and the other one is paused, so the head of a larger object stops both.
        var small = DownloadRequest(from: url, to: file)
        small.maximumByteCount = 10_000
        let limited = downloader.start(small)
        let paused = downloader.start(DownloadRequest(from: url, to: file))
        paused.pause()
        let exchange = await engine.exchange(0)
        // The thread that has started the exchange would perform the actions otherwise.
        await downloader.waitUntilIdle()
        exchange.answer(Self.first)
        #expect(limited.state == .failed)
        #expect(exchange.isCancelled)
        exchange.end(.cancelled)
        while downloader.liveTransfers.first?.withState({ $0.machine.phase }) != .paused { await Task.yield() }
        #expect(disk.createdPartialCount == 0)

        // Another downloader keeps bytes at the same location.
        let unfinished = other.start(DownloadRequest(from: url, to: file))
        let otherExchange = await otherEngine.exchange(0)
        otherExchange.answer(Self.second)
        otherExchange.deliver(40_000)
        unfinished.cancel()
        otherExchange.end(.cancelled)
        await other.shutdown()

        // The paused subscriber resumes after the object has changed again.
        paused.resume()
        let next = await engine.exchange(1)
        #expect(next.offset == 40_000)
        next.answer(Self.third)
        #expect(next.isHeldBack || disk.createdPartialCount == 1)
        while next.isHeldBack { await Task.yield() }
        next.deliver(Self.third.content.length)
        next.end(.complete)
        let result = try await paused.file
        #expect(result.byteCount == Self.third.content.length)
        #expect(disk.createdPartialCount == 1, "one partial file is created for one representation")
        let bytes = try #require(directory.bytes(at: file.path))
        #expect(bytes.count == Int(Self.third.content.length))
        #expect(bytes.withUnsafeBytes { Self.third.content.matches($0, at: 0) })
        await downloader.shutdown()
        #expect(disk.violations == [])
    }

    private func makeDownloader(_ engine: SteppedTransport, _ disk: AuditingFileSystem) -> Downloader {
        var configuration = Downloader.Configuration()
        configuration.durability = .processCrash
        configuration.memoryPressure = .none
        configuration.idleTimeout = .unlimited
        let store = PartialStore(disk: disk, durability: .processCrash, bootID: POSIXFileSystem.bootID())
        return Downloader(configuration: configuration, transport: engine, store: store, time: ManualTimeSource())
    }
}

extension SteppedTransport {
    /// Waits for the exchange at `index`, in the order in which exchanges were started.
    func exchange(_ index: Int) async -> SteppedExchange {
        while exchanges.count <= index { await Task.yield() }
        return exchanges[index]
    }
}
