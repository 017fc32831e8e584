import Foundation
import LoopbackServer

@testable import AsyncDownloads

/// A downloader with an engine and a clock that the test controls, and the real disk.
struct LifecycleFixture: Sendable {
    let transport = SteppedTransport()
    let time = ManualTimeSource()
    let network = ManualPathMonitor()
    let disk: HoldingFileSystem
    let directory: TemporaryDirectory
    let downloader: Downloader
    private let store: PartialStore

    private init(placesInGroups: Bool, _ configure: (inout Downloader.Configuration) -> Void) throws {
        directory = try TemporaryDirectory()
        disk = HoldingFileSystem(volume: placesInGroups ? .diskWithSharedSyncs : nil)
        var configuration = Downloader.Configuration()
        configuration.durability = placesInGroups ? .powerLoss : .processCrash
        configuration.progressInterval = .zero
        configuration.idleTimeout = .unlimited
        configuration.partialBodies = PartialBodyStore(byteLimit: 32 << 20)
        configuration.memoryPressure = .none
        // Bodies that are moved out of memory are stored there too.
        configuration.partialsDirectory = URL(fileURLWithPath: directory.path)
        configure(&configuration)
        store = PartialStore(
            disk: disk, durability: configuration.durability, bootID: POSIXFileSystem.bootID(),
            bufferedLength: placesInGroups ? 1 << 20 : 0)
        downloader = Downloader(
            configuration: configuration, transport: transport, store: store, time: time, network: network)
    }

    /// - Parameter placesInGroups: Whether files are in memory until they are placed with shared syncs (``SyncQueue``).
    static func with(
        placesInGroups: Bool = false, configure: (inout Downloader.Configuration) -> Void = { _ in },
        _ body: (LifecycleFixture) async throws -> Void
    ) async throws {
        let fixture = try LifecycleFixture(placesInGroups: placesInGroups, configure)
        do {
            try await body(fixture)
        } catch {
            await fixture.close()
            throw error
        }
        await fixture.close()
    }

    private func close() async {
        disk.openAll()
        transport.close()
        await downloader.shutdown()
    }

    /// Returns a request for `path` with a destination in the directory.
    func request(_ path: String = "/one", to name: String = "file.bin") throws -> DownloadRequest {
        DownloadRequest(from: try url(path), to: URL(fileURLWithPath: "\(directory.path)/\(name)"))
    }

    func url(_ path: String) throws -> URL {
        guard let url = URL(string: "https://origin.example\(path)") else { throw CocoaError(.fileReadInvalidFileName) }
        return url
    }

    /// Waits until the store has responded and every action is performed, so that only the test can cause progress.
    func waitUntilIdle() async { await downloader.waitUntilIdle() }

    /// Waits until the store has performed all its operations.
    func waitForStore() async {
        await waitUntilIdle()
        for transfer in downloader.liveTransfers.compactMap(\.activeTransfer) {
            await withCheckedContinuation { continuation in transfer.queue.async { continuation.resume() } }
        }
    }

    /// The unfinished downloads that another process would find.
    func kept() throws -> [UnfinishedPartial] { try store.unfinished(in: directory.path, trustsDestinations: false) }

    /// The number of bytes of each unfinished download that another process would find.
    func keptCounts() throws -> [Int64] { try kept().map(\.received.count) }

    /// Returns whether the file `name` contains exactly `content`.
    func holds(_ content: Content, at name: String = "file.bin") -> Bool {
        guard let bytes = directory.bytes(at: "\(directory.path)/\(name)") else { return false }
        return Int64(bytes.count) == content.length && bytes.withUnsafeBytes { content.matches($0, at: 0) }
    }

    // MARK: Steps

    /// Ends every canceled exchange.
    func endCancelled() async {
        for exchange in transport.open where exchange.isCancelled { exchange.end(.cancelled) }
        await waitUntilIdle()
    }

    /// Completes all exchanges and delays.
    func step(_ object: SteppedObject) async {
        await endCancelled()
        for exchange in transport.open where !exchange.isCancelled {
            if exchange.object == nil { exchange.answer(object) }
            await waitUntilIdle()
            exchange.deliver(object.content.length)
            exchange.end(exchange.isCancelled ? .cancelled : .complete)
            await waitUntilIdle()
        }
        time.advance(by: .seconds(60))
        await waitUntilIdle()
    }

    /// Performs steps until the download has ended.
    func finish(_ download: Download, _ object: SteppedObject) async {
        while !download.state.isFinal { await step(object) }
    }
}

extension Downloader {
    /// Waits until every transfer is idle.
    func waitUntilIdle() async {
        var idleChecks = 0
        // One transfer may start work of another one after it was checked, so the check is repeated.
        while idleChecks < 2 {
            idleChecks = liveTransfers.allSatisfy(\.isIdle) ? idleChecks + 1 : 0
            await Task.yield()
        }
    }
}

extension TransferSlot {
    /// Whether only the engine, the clock, or a caller can cause progress.
    var isIdle: Bool {
        switch currentStage {
        // A queued transfer only waits, until it has ended.
        case .queued(let queued): queued.ending == nil
        case .active(let active): active.isIdle
        }
    }
}

extension ActiveTransfer {
    fileprivate var isIdle: Bool {
        withState { state in
            guard state.actions.isIdle, !state.storage.isMovingToDisk,
                !state.machine.exchanges.all.contains(where: { $0.exchange.isWriting })
            else { return false }
            switch state.machine.phase {
            case .opening, .preparing, .closing, .closingToRetry, .finishing, .ended: return false
            case .ready, .waiting, .connecting, .receiving, .draining, .refreshing, .awaitingNetwork, .backingOff,
                .pacing,
                .paused:
                return true
            }
        }
    }
}
