import Foundation
import LoopbackServer

@testable import AsyncDownloads

/// A downloader over an engine and a clock that a test steps, and the real disk.
struct LifecycleStage: Sendable {
    let transport = SteppedTransport()
    let time = ManualTimeSource()
    let disk = HoldingFileSystem()
    let directory: TemporaryDirectory
    let downloader: Downloader
    private let store: DiskStore

    private init(_ configure: (inout Downloader.Configuration) -> Void) throws {
        directory = try TemporaryDirectory()
        var configuration = Downloader.Configuration()
        configuration.durability = .processCrash
        configuration.progressInterval = .zero
        configuration.idleTimeout = nil
        configuration.partialBodies = PartialBodyStore(byteLimit: 32 << 20)
        configuration.memoryPressure = .none
        // Bodies that have to leave memory go there, too.
        configuration.partialsDirectory = URL(fileURLWithPath: directory.path)
        configure(&configuration)
        store = DiskStore(disk: disk, durability: configuration.durability, bootID: POSIXFileSystem.bootID())
        downloader = Downloader(configuration: configuration, transport: transport, store: store, time: time)
    }

    static func with(
        configure: (inout Downloader.Configuration) -> Void = { _ in }, _ body: (LifecycleStage) async throws -> Void
    ) async throws {
        let stage = try LifecycleStage(configure)
        do {
            try await body(stage)
        } catch {
            await stage.close()
            throw error
        }
        await stage.close()
    }

    private func close() async {
        disk.reading.open()
        disk.renaming.open()
        transport.close()
        await downloader.shutdown()
    }

    /// A request for `path` into the directory.
    func request(_ path: String = "/one", to name: String = "file.bin") throws -> DownloadRequest {
        DownloadRequest(from: try url(path), to: URL(fileURLWithPath: "\(directory.path)/\(name)"))
    }

    func url(_ path: String) throws -> URL {
        guard let url = URL(string: "https://origin.example\(path)") else { throw CocoaError(.fileReadInvalidFileName) }
        return url
    }

    /// Waits until nothing goes on but what a test has to bring about: every store has answered, every action is done.
    func performEffects() async {
        var quietLooks = 0
        // One transfer may wake another, behind the back of one look.
        while quietLooks < 2 {
            quietLooks = downloader.liveTransfers.allSatisfy(\.isAtRest) ? quietLooks + 1 : 0
            await Task.yield()
        }
    }

    /// Waits until the store has done what it has been asked for.
    func storeSettles() async {
        await performEffects()
        for transfer in downloader.liveTransfers {
            await withCheckedContinuation { continuation in transfer.queue.async { continuation.resume() } }
        }
    }

    /// What another process would find unfinished.
    func kept() throws -> [UnfinishedPartial] { try store.unfinished(in: directory.path, trustsDestinations: false) }

    /// How many bytes another process would find of each unfinished file.
    func keptCounts() throws -> [Int64] { try kept().map(\.received.count) }

    /// Whether the file `name` holds exactly `content`.
    func holds(_ content: Content, at name: String = "file.bin") -> Bool {
        guard let bytes = directory.bytes(at: "\(directory.path)/\(name)") else { return false }
        return Int64(bytes.count) == content.length && bytes.withUnsafeBytes { content.matches($0, at: 0) }
    }

    // MARK: Steps

    /// Gives every cancelled exchange its end.
    func endCancelled() async {
        for exchange in transport.open where exchange.isCancelled { exchange.end(.cancelled) }
        await performEffects()
    }

    /// Lets everything go on that can: exchanges to their end, delays to theirs.
    func step(_ object: SteppedObject) async {
        await endCancelled()
        for exchange in transport.open where !exchange.isCancelled {
            if exchange.object == nil { exchange.answer(object) }
            await performEffects()
            exchange.deliver(object.content.length)
            exchange.end(exchange.isCancelled ? .cancelled : .complete)
            await performEffects()
        }
        time.advance(by: .seconds(60))
        await performEffects()
    }

    /// Steps until the download has ended.
    func finish(_ download: Download, _ object: SteppedObject) async {
        while !download.state.isFinal { await step(object) }
    }
}

extension Transfer {
    /// Whether only the engine, the clock or a caller can bring it further.
    var isAtRest: Bool {
        withState { state in
            guard state.pending.isEmpty, !state.isPerforming, !state.isLeavingMemory,
                !state.machine.isWriting
            else { return false }
            switch state.machine.phase {
            case .opening, .preparing, .closing, .closingToRetry, .finishing, .ended: return false
            case .ready, .waiting, .connecting, .receiving, .draining, .refreshing, .backingOff, .pacing, .paused:
                return true
            }
        }
    }
}
