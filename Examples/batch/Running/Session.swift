internal import AsyncDownloads
internal import Foundation

/// One run over a list of items, which starts each download, follows its events, and can be stopped in order.
actor Session {
    /// A closure that is called with each event and its download.
    typealias Observer = @Sendable (RunEvent, Download) -> Void

    private let downloader: Downloader
    private let window: Int
    private let observer: Observer?
    private let clock = ContinuousClock()
    private let start: ContinuousClock.Instant

    private var console: Console
    private var tally = Tally(total: 0)
    /// The IDs of the downloads that have started, and have neither ended nor paused.
    private var running: Set<Int> = []
    /// Whether ``stop()`` was called; no download starts afterward.
    private var isStopping = false
    private var quiescence: CheckedContinuation<Void, Never>?
    /// The number of downloads that have started and haven't ended.
    private var openCount = 0
    /// The IDs of the downloads that wait for a host that can't be reached or asks to wait; they leave their places in the
    /// window to others.
    private var heldUp: Set<Int> = []
    private var room: CheckedContinuation<Void, Never>?

    private static let mostHeldUp = 2048

    /// Creates a session.
    ///
    /// - Parameters:
    ///   - downloader: The downloader, which the session shuts down.
    ///   - window: The number of requests that are open at the same time; the downloader's limits apply as well.
    ///   - console: The console that shows the events.
    ///   - observer: A closure that receives the events.
    init(downloader: Downloader, window: Int, console: Console, observer: Observer? = nil) {
        self.downloader = downloader
        self.window = window
        self.console = console
        self.observer = observer
        start = clock.now
    }

    /// Downloads the items into `directory`, starting them in their order.
    ///
    /// Returns when all downloads have ended or ``stop()`` has paused them. Must be called only once.
    func run(_ items: [Item], into directory: URL) async -> Tally {
        tally.total = items.count
        let painter = Task { await paint() }
        await withTaskGroup(of: Void.self) { group in
            var startedCount = 0
            for item in items {
                if let error = item.pathError(in: directory) {
                    fail(item, error)
                    continue
                }
                while !hasRoom { await withCheckedContinuation { room = $0 } }
                // The group keeps the results of the tasks that have ended.
                while startedCount > openCount {
                    await group.next()
                    startedCount -= 1
                }
                guard !isStopping else { break }
                let download = begin(item, into: directory)
                startedCount += 1
                group.addTask { await self.follow(download, of: item) }
            }
        }
        painter.cancel()
        await downloader.shutdown()
        tally.duration = now
        console.finish(tally)
        return tally
    }

    /// Pauses all downloads, waits until their bytes are saved, and makes ``run(_:into:)`` return.
    func stop() async {
        guard !isStopping else { return }
        isStopping = true
        downloader.pauseAll()
        if !running.isEmpty { await withCheckedContinuation { quiescence = $0 } }
        await downloader.shutdown()
    }

    private var now: Duration { clock.now - start }

    private var hasRoom: Bool { openCount < window + min(heldUp.count, Self.mostHeldUp) }

    private func offerRoom() {
        guard hasRoom else { return }
        room?.resume()
        room = nil
    }

    private func paint() async {
        guard console.isLive else { return }
        while !Task.isCancelled {
            console.paint(at: now)
            try? await Task.sleep(for: .milliseconds(100))
        }
    }
}

extension WaitingReason {
    /// Whether the host of a download can't be reached, or asks to wait.
    fileprivate var isOfHost: Bool { end != nil }
}

extension Download {
    /// The number of bytes received from the network; a shared transfer counts for its first download only.
    fileprivate var fetchedHere: Int64 { isCoalesced ? 0 : progress.fetchedByteCount }
}

extension Session {
    private func fail(_ item: Item, _ error: DownloadError) {
        tally.failed += 1
        console.show(RunEvent(item: item, time: now, elapsed: .zero, fetched: 0, what: .failure(error)))
    }

    private func begin(_ item: Item, into directory: URL) -> Download {
        let request = item.request(into: directory)
        let download = downloader.start(request)
        running.insert(item.id)
        openCount += 1
        return download
    }

    private func follow(_ download: Download, of item: Item) async {
        let begun = now
        func emit(_ what: Result<DownloadEvent, DownloadError>, fetched: Int64) {
            let event = RunEvent(item: item, time: now, elapsed: now - begun, fetched: fetched, what: what)
            console.show(event)
            observer?(event, download)
        }
        do {
            for try await event in download.events {
                record(event, of: item.id)
                let fetched = download.fetchedHere
                if case .finished(let file) = event {
                    tally.finished += 1
                    if file.isReused { tally.skipped += 1 }
                    tally.bytes += file.byteCount
                }
                emit(.success(event), fetched: fetched)
            }
        } catch let error as DownloadError where error.code == .shutDown && isStopping {
            // The download was paused before the shutdown, and its pause was its last event to show.
            if download.progress.receivedByteCount > 0 { tally.paused += 1 }
        } catch let error as DownloadError {
            tally.failed += 1
            emit(.failure(error), fetched: download.fetchedHere)
        } catch {
            preconditionFailure("a download ends with a DownloadError, not \(error)")
        }
        tally.fetched += download.fetchedHere
        removeRunning(item.id)
        openCount -= 1
        heldUp.remove(item.id)
        offerRoom()
    }

    private func record(_ event: DownloadEvent, of id: Int) {
        if case .waiting(let reason) = event, reason.isOfHost {
            heldUp.insert(id)
            offerRoom()
        } else {
            heldUp.remove(id)
        }
        switch event {
        case .paused:
            removeRunning(id)
        case .restarted(_, let discarded) where isStopping:
            tally.lost += discarded
        default:
            running.insert(id)
        }
    }

    private func removeRunning(_ id: Int) {
        running.remove(id)
        guard running.isEmpty else { return }
        quiescence?.resume()
        quiescence = nil
    }
}
