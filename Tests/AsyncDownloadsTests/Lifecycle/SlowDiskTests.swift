import Foundation
import LoopbackServer
import TestSupport
import Testing

@testable import AsyncDownloads

/// Disks that are slow, and work that must not wait for them.
@Suite(.endsWhenHung)
struct SlowDiskTests {
    /// A disk whose writes move the clock, and that records which threads write.
    private final class SlowDisk: ForwardingFileSystem {
        let time: ManualTimeSource
        let writers = Mutex<[Bool]>([])
        let delay = Mutex(Duration.zero)
        let syncing = Hold()

        init(_ time: ManualTimeSource) {
            self.time = time
        }

        func write(_ bytes: UnsafeRawBufferPointer, to file: OpenFile, at offset: Int64) throws(FileFailure) {
            if file.name.hasSuffix(".partial") {
                writers.withLock { $0.append(Thread.current.threadDictionary[SlowDiskTests.engineThread] != nil) }
                let delay = delay.withLock { $0 }
                if delay > .zero { time.advance(by: delay) }
            }
            try base.write(bytes, to: file, at: offset)
        }

        func synchronize(_ file: OpenFile) throws(FileFailure) {
            if file.name.hasSuffix(".partial") { syncing.pass() }
            try base.synchronize(file)
        }
    }

    private static let engineThread = "engine"
    private static let object = InterruptionPoint.object

    private struct Fixture {
        let transport = SteppedTransport()
        let time = ManualTimeSource()
        let disk: SlowDisk
        let directory: TemporaryDirectory
        let downloader: Downloader

        init(_ durability: Durability = .processCrash) throws {
            disk = SlowDisk(time)
            directory = try TemporaryDirectory()
            var configuration = Downloader.Configuration()
            configuration.memoryPressure = .none
            configuration.idleTimeout = .unlimited
            configuration.partialBodies = PartialBodyStore(byteLimit: 32 << 20)
            configuration.partialsDirectory = URL(fileURLWithPath: directory.path)
            let store = PartialStore(disk: disk, durability: durability, bootID: POSIXFileSystem.bootID())
            downloader = Downloader(configuration: configuration, transport: transport, store: store, time: time)
        }

        func request(_ path: String, to name: String? = nil) throws -> DownloadRequest {
            let url = try #require(URL(string: "https://origin.example\(path)"))
            guard let name else { return DownloadRequest(from: url, to: .memory) }
            return DownloadRequest(from: url, to: URL(fileURLWithPath: "\(directory.path)/\(name)"))
        }

        /// Runs `body` on the thread that represents the engine's, and waits until it has returned.
        func onEngine(_ body: @escaping @Sendable () -> Void) async {
            await withCheckedContinuation { continuation in
                Thread.detachNewThread {
                    Thread.current.threadDictionary[SlowDiskTests.engineThread] = true
                    body()
                    continuation.resume()
                }
            }
        }

        func close() async {
            disk.syncing.open()
            transport.close()
            await downloader.shutdown()
        }
    }

    @Test func `after a slow write, the engine's thread no longer writes to that disk`() async throws {
        let fixture = try Fixture()
        let download = fixture.downloader.start(try fixture.request("/0", to: "0.bin"))
        let exchange = await fixture.transport.exchange(0)
        // The thread that has started the exchange would write otherwise.
        await fixture.downloader.waitUntilIdle()
        await fixture.onEngine {
            exchange.answer(Self.object)
            exchange.deliver(10_000)
        }
        fixture.disk.delay.withLock { $0 = .seconds(4) }
        await fixture.onEngine { exchange.deliver(10_000) }
        await fixture.onEngine { exchange.deliver(10_000) }
        while exchange.isHeldBack { await Task.yield() }
        // Another download to the same disk starts on another thread too.
        let other = fixture.downloader.start(try fixture.request("/1", to: "1.bin"))
        let otherExchange = await fixture.transport.exchange(1)
        await fixture.onEngine { otherExchange.answer(Self.object) }
        while otherExchange.isHeldBack { await Task.yield() }
        await fixture.onEngine { otherExchange.deliver(10_000) }
        while otherExchange.isHeldBack { await Task.yield() }
        #expect(fixture.disk.writers.withLock { $0 } == [true, true, false, false])
        // When the disk has been fast for a while, bytes are written on the engine's thread again.
        fixture.disk.delay.withLock { $0 = .zero }
        fixture.time.advance(by: .seconds(61))
        await fixture.onEngine { exchange.deliver(Self.object.content.length) }
        #expect(fixture.disk.writers.withLock { $0.last } == true)
        exchange.end(.complete)
        #expect(try await download.file.byteCount == Self.object.content.length)
        let bytes = try #require(fixture.directory.bytes(at: "\(fixture.directory.path)/0.bin"))
        #expect(bytes.withUnsafeBytes { Self.object.content.matches($0, at: 0) })
        other.cancel()
        await fixture.close()
    }

    @Test func `an end that arrives while bytes are written on another thread waits for the write`() async throws {
        let fixture = try Fixture()
        fixture.disk.delay.withLock { $0 = .seconds(4) }
        let download = fixture.downloader.start(try fixture.request("/0", to: "0.bin"))
        let exchange = await fixture.transport.exchange(0)
        await fixture.onEngine {
            exchange.answer(Self.object)
            exchange.deliver(10_000)
            exchange.deliver(20_000)
            exchange.end(.failed(DownloadError(.unsupported)))
        }
        let error = await #expect(throws: DownloadError.self) { try await download.file }
        #expect(error?.retainedByteCount == 30_000)
        await fixture.close()
    }

    @Test func `a request for a file of a body in memory does not wait for a sync, and neither does the engine`()
        async throws
    {
        let fixture = try Fixture(.powerLoss)
        let inMemory = fixture.downloader.start(try fixture.request("/0"))
        let exchange = await fixture.transport.exchange(0)
        exchange.answer(Self.object)
        exchange.deliver(10_000)
        fixture.disk.syncing.shut()
        let file = fixture.downloader.start(try fixture.request("/0", to: "0.bin"))
        #expect(file.isCoalesced)
        while !fixture.disk.syncing.hasWaiter { await Task.yield() }
        // The engine is asked to wait, and its thread is not blocked.
        await fixture.onEngine { exchange.deliver(10_000) }
        #expect(exchange.isHeldBack)
        let other = fixture.downloader.start(try fixture.request("/1"))
        let otherExchange = await fixture.transport.exchange(1)
        await fixture.onEngine {
            otherExchange.answer(Self.object)
            otherExchange.deliver(Self.object.content.length)
            otherExchange.end(.complete)
        }
        #expect(try await other.file.byteCount == Self.object.content.length)
        fixture.disk.syncing.open()
        exchange.deliver(Self.object.content.length)
        exchange.end(.complete)
        #expect(try await file.file.byteCount == Self.object.content.length)
        #expect(try await inMemory.file.data?.count == Int(Self.object.content.length))
        let bytes = try #require(fixture.directory.bytes(at: "\(fixture.directory.path)/0.bin"))
        #expect(bytes.withUnsafeBytes { Self.object.content.matches($0, at: 0) })
        await fixture.close()
    }
}
