import Dispatch
import Foundation
import LoopbackServer
import TestSupport
import Testing

@testable import AsyncDownloads

/// Engines that end an exchange inside one of its callbacks, which the port forbids and AsyncHTTPClient has done.
@Suite(.endsWhenHung)
struct EndInsideCallbackTests {
    private static let object = SteppedObject(content: Content(seed: 3, length: 100_000), tag: "\"a\"")

    /// A downloader with an audited disk and an engine that ends an exchange as soon as it is canceled.
    private struct Fixture {
        let transport = SteppedTransport()
        let disk = AuditingFileSystem()
        let directory: TemporaryDirectory
        let downloader: Downloader

        init() throws {
            directory = try TemporaryDirectory()
            var configuration = Downloader.Configuration()
            configuration.durability = .processCrash
            configuration.memoryPressure = .none
            configuration.idleTimeout = .unlimited
            let store = PartialStore(disk: disk, durability: .processCrash, bootID: POSIXFileSystem.bootID())
            downloader = Downloader(
                configuration: configuration, transport: transport, store: store, time: ManualTimeSource())
            transport.close()
        }

        func start() throws -> Download {
            let url = try #require(URL(string: "https://origin.example/one"))
            return downloader.start(
                DownloadRequest(from: url, to: URL(fileURLWithPath: "\(directory.path)/file.bin")))
        }
    }

    enum Interruption: String, CaseIterable, Sendable {
        case cancel, discard, pause
    }

    @Test(arguments: Interruption.allCases)
    func `a partial file is not closed while it is being created`(
        _ interruption: Interruption
    ) async throws {
        let fixture = try Fixture()
        let download = try fixture.start()
        let exchange = await fixture.transport.exchange(0)
        // The transfer's queue would perform the actions otherwise, and the closure below waits for the queue.
        await fixture.downloader.waitUntilIdle()
        let transfer = try #require(fixture.downloader.liveTransfers.first).activate()
        fixture.disk.whenPartialIsCreated {
            switch interruption {
            case .cancel: download.cancel()
            case .discard: download.discard()
            case .pause: download.pause()
            }
            // Every effect of the end of the exchange so far is performed before this returns.
            transfer.queue.waitUntilEmpty()
        }
        exchange.answer(Self.object)
        exchange.deliver(10_000)
        while fixture.downloader.liveTransfers.contains(where: { $0.withState { $0.machine.phase != .paused } }) {
            await Task.yield()
        }
        await fixture.downloader.shutdown()
        #expect(fixture.disk.violations == [])
        #expect(fixture.disk.openCount == 0)
        #expect(fixture.directory.names() == [], "nothing was received, so no file remains")
    }

    @Test func `bytes being written are counted before an end that arrives in the meantime`() async throws {
        let fixture = try Fixture()
        let download = try fixture.start()
        let exchange = await fixture.transport.exchange(0)
        // The transfer's queue would perform the actions otherwise, and the closure below waits for the queue.
        await fixture.downloader.waitUntilIdle()
        exchange.answer(Self.object)
        exchange.deliver(10_000)
        let transfer = try #require(fixture.downloader.liveTransfers.first).activate()
        fixture.disk.whenPartialIsWritten {
            // Another thread reports the end, as in an engine that does not wait for its callbacks to return.
            let isReported = DispatchSemaphore(value: 0)
            Thread.detachNewThread {
                exchange.end(.failed(DownloadError(.unsupported)))
                isReported.signal()
            }
            isReported.wait()
            transfer.queue.waitUntilEmpty()
        }
        exchange.deliver(20_000)
        do {
            _ = try await download.file
            Issue.record("a truncated body was delivered as a file")
        } catch {
            #expect(error.code == .unsupported)
            #expect(error.retainedByteCount == 30_000)
        }
        await fixture.downloader.shutdown()
        #expect(fixture.disk.violations == [])
    }

    @Test(arguments: Engine.allCases)
    func `canceling all readers when a download starts does not affect other descriptors`(
        _ engine: Engine
    ) async throws {
        let disk = AuditingFileSystem()
        let directory = try TemporaryDirectory()
        try await LoopbackServer.withServer { server in
            server.serve(Resource(Content(seed: 1, length: 3_000_000)), at: "/file")
            var configuration = Downloader.Configuration()
            configuration.durability = .processCrash
            configuration.memoryPressure = .none
            let store = PartialStore(disk: disk, durability: .processCrash, bootID: POSIXFileSystem.bootID())
            let downloader = Downloader(
                configuration: configuration, transport: engine.makeTransport(), store: store,
                time: SystemTimeSource())
            for round in 0..<15 {
                let download = downloader.start(
                    DownloadRequest(
                        from: server.url("/file"), to: URL(fileURLWithPath: "\(directory.path)/\(round).bin")))
                await withTaskGroup(of: Void.self) { readers in
                    for _ in 0..<60 {
                        readers.addTask {
                            do {
                                for try await event in download.events {
                                    if case .started = event { download.cancel() }
                                }
                            } catch {}
                        }
                    }
                }
            }
            await downloader.shutdown()
        }
        #expect(disk.violations == [])
        #expect(disk.openCount == 0)
    }
}
