import Dispatch
import Foundation
import LoopbackServer
import TestSupport
import Testing

@testable import AsyncDownloads

/// Partial files that are prepared on the queue of the transfer, for an exchange that ends before.
@Suite(.endsWhenHung)
struct QueuedPreparationTests {
    private static let object = SteppedObject(content: Content(seed: 1, length: 5000), tag: "\"1\"")

    /// A transfer whose second exchange waits for the start of the partial file, while the bytes move to disk.
    private struct Waiting {
        let engine = SteppedTransport()
        let disk = AuditingFileSystem()
        let directory: TemporaryDirectory
        let downloader: Downloader
        let inMemory: Download
        let inFile: Download

        init() async throws {
            directory = try TemporaryDirectory()
            var configuration = Downloader.Configuration()
            configuration.durability = .powerLoss
            configuration.memoryPressure = .none
            configuration.idleTimeout = .unlimited
            configuration.partialBodies = PartialBodyStore(byteLimit: 1 << 20)
            configuration.partialsDirectory = URL(fileURLWithPath: directory.path)
            let store = PartialStore(disk: disk, durability: .powerLoss, bootID: POSIXFileSystem.bootID())
            downloader = Downloader(
                configuration: configuration, transport: engine, store: store, time: ManualTimeSource())
            let url = try #require(URL(string: "https://origin.example/one"))
            inMemory = downloader.start(DownloadRequest(from: url, to: .memory))
            let first = await engine.exchange(0)
            first.answer(QueuedPreparationTests.object)
            // The move waits for its sync.
            disk.pace.shut()
            let file = URL(fileURLWithPath: "\(directory.path)/file.bin")
            inFile = downloader.start(DownloadRequest(from: url, to: file))
            while !disk.pace.hasWaiter { await Task.yield() }
            let second = await restart(after: 0)
            second.answer(QueuedPreparationTests.object)
            #expect(second.isHeldBack)
        }

        /// Ends an exchange by a pause that is shorter than its cancellation takes, and returns the next exchange.
        func restart(after index: Int) async -> SteppedExchange {
            for download in [inMemory, inFile] { download.pause() }
            for download in [inMemory, inFile] { download.resume() }
            engine.exchanges[index].end(.cancelled)
            return await engine.exchange(index + 1)
        }

        /// Delivers the rest, and checks the files.
        func finish(_ exchange: SteppedExchange) async throws {
            exchange.deliver(QueuedPreparationTests.object.content.length)
            exchange.end(.complete)
            let file = try await inFile.file
            let bytes = try #require(directory.bytes(at: file.url.path))
            #expect(bytes.count == Int(QueuedPreparationTests.object.content.length))
            #expect(bytes.withUnsafeBytes { QueuedPreparationTests.object.content.matches($0, at: 0) })
            #expect(try await inMemory.file.data == Data(bytes))
            engine.close()
            await downloader.shutdown()
            #expect(disk.violations == [] && disk.openCount == 0)
            #expect(try directory.contents == ["file.bin"])
        }
    }

    @Test func `a start that has not begun discards no bytes of a later exchange`() async throws {
        let waiting = try await Waiting()
        let exchange = await waiting.restart(after: 1)
        let transfer = try #require(waiting.downloader.liveTransfers.first).activate()
        transfer.queue.suspend()
        waiting.disk.pace.open()
        while transfer.withState({ $0.storage.isMovingToDisk }) { await Task.yield() }
        exchange.answer(Self.object)
        #expect(exchange.isHeldBack)
        exchange.deliver(2500)
        transfer.queue.resume()
        while exchange.isHeldBack { await Task.yield() }
        try await waiting.finish(exchange)
    }

    @Test func `a start that is running doesn't run beside that of a later exchange`() async throws {
        let waiting = try await Waiting()
        let exchange = await waiting.restart(after: 1)
        let (begins, hold) = (Gate(), DispatchSemaphore(value: 0))
        let count = Mutex(0)
        waiting.disk.whenPartialIsCreated {
            let isFirst = count.withLock { count in
                count += 1
                return count == 1
            }
            guard isFirst else { return }
            begins.open()
            hold.wait()
        }
        waiting.disk.pace.open()
        await withCheckedContinuation { continuation in begins.onOpen { continuation.resume() } }
        exchange.answer(Self.object)
        #expect(exchange.isHeldBack)
        hold.signal()
        while exchange.isHeldBack { await Task.yield() }
        try await waiting.finish(exchange)
    }

    @Test func `bytes of a later exchange are written after the record that they are unverified`() async throws {
        let (engine, disk, time) = (SteppedTransport(), AuditingFileSystem(), ManualTimeSource())
        let directory = try TemporaryDirectory()
        var configuration = Downloader.Configuration()
        configuration.durability = .processCrash
        configuration.memoryPressure = .none
        configuration.idleTimeout = .unlimited
        let store = PartialStore(disk: disk, durability: .processCrash, bootID: POSIXFileSystem.bootID())
        let downloader = Downloader(configuration: configuration, transport: engine, store: store, time: time)
        let url = try #require(URL(string: "https://origin.example/one"))
        var request = DownloadRequest(from: url, to: URL(fileURLWithPath: "\(directory.path)/file.bin"))
        (request.checksum, request.contentChangePolicy) = (Self.object.content.sha256, .verify)
        let download = downloader.start(request)
        let first = await engine.exchange(0)
        first.answer(Self.object)
        first.deliver(2000)
        first.end(.failed(DownloadError(.connectionLost)))
        // The state is visible before the timer of the retry is scheduled.
        while download.state != .retrying || !downloader.liveTransfers.allSatisfy(\.isIdle) { await Task.yield() }
        time.advance(by: .seconds(60))
        // Another node has other entity tags, and sends a range only without the condition.
        let other = SteppedObject(content: Self.object.content, tag: "\"2\"")
        let second = await engine.exchange(1)
        second.answer(other)
        second.end(.cancelled)
        let third = await engine.exchange(2)
        disk.pace.shut()
        third.answer(other)
        while !disk.pace.hasWaiter { await Task.yield() }
        download.pause()
        download.resume()
        third.end(.cancelled)
        let fourth = await engine.exchange(3)
        #expect(fourth.offset == 2000)
        fourth.answer(other)
        fourth.deliver(1000)
        #expect(fourth.isHeldBack, "the bytes wait behind the record")
        disk.pace.open()
        while fourth.isHeldBack { await Task.yield() }
        fourth.deliver(Self.object.content.length)
        fourth.end(.complete)
        #expect(try await download.file.byteCount == Self.object.content.length)
        engine.close()
        await downloader.shutdown()
        #expect(disk.violations == [] && disk.openCount == 0)
    }
}
