#if ServerStack
internal import AsyncDownloads
internal import Foundation

/// One run over a list of items: starts each download, follows its events and, when asked to, stops in order.
actor Session {
    /// Called with every event and the handle that it came from.
    typealias Observer = @Sendable (RunEvent, Download) -> Void

    private let downloader: Downloader
    private let window: Int
    private let observer: Observer?
    private let clock = ContinuousClock()
    private let start: ContinuousClock.Instant

    private var console: Console
    private var tally = Tally(total: 0)
    /// The downloads that have begun, and have neither ended nor paused.
    private var running: Set<Int> = []
    /// Set once, by ``stop()``; nothing is started afterwards.
    private var isStopping = false
    private var quiescence: CheckedContinuation<Void, Never>?

    /// - Parameter window: How many requests are open at once; the downloader's own limits hold as well.
    init(downloader: Downloader, window: Int, console: Console, observer: Observer? = nil) {
        self.downloader = downloader
        self.window = window
        self.console = console
        self.observer = observer
        start = clock.now
    }

    /// Downloads the items into `directory`, beginning in their order.
    ///
    /// Returns when all have ended, or ``stop()`` has paused them. Called once.
    func run(_ items: [Item], into directory: URL) async -> Tally {
        tally.total = items.count
        let painter = Task { await paint() }
        await withTaskGroup(of: Void.self) { group in
            for (index, item) in items.enumerated() {
                if index >= window { await group.next() }
                guard !isStopping else { break }
                let download = begin(item, into: directory)
                group.addTask { await self.follow(download, of: item) }
            }
        }
        painter.cancel()
        await downloader.shutdown()
        tally.duration = now
        console.finish(tally)
        return tally
    }

    /// Pauses everything, waits until all bytes are safe, and lets ``run(_:into:)`` return.
    func stop() async {
        guard !isStopping else { return }
        isStopping = true
        downloader.pauseAll()
        if !running.isEmpty { await withCheckedContinuation { quiescence = $0 } }
        await downloader.shutdown()
    }

    private var now: Duration { clock.now - start }

    private func paint() async {
        guard console.isLive else { return }
        while !Task.isCancelled {
            console.paint(at: now)
            try? await Task.sleep(for: .milliseconds(100))
        }
    }
}

extension Download {
    /// Bytes that crossed the network, counted for the first handle alone where several share a transfer.
    fileprivate var fetchedHere: Int64 { isCoalesced ? 0 : progress.fetchedByteCount }
}

// MARK: - One download

extension Session {
    private func begin(_ item: Item, into directory: URL) -> Download {
        let request = item.request(into: directory)
        let download = downloader.start(request)
        running.insert(item.id)
        return download
    }

    private func follow(_ download: Download, of item: Item) async {
        let begun = now
        func tell(_ what: Result<DownloadEvent, DownloadError>, fetched: Int64) {
            let event = RunEvent(item: item, time: now, elapsed: now - begun, fetched: fetched, what: what)
            console.show(event)
            observer?(event, download)
        }
        do {
            for try await event in download.events {
                note(event, of: item.id)
                let fetched = download.fetchedHere
                if case .finished(let file) = event {
                    tally.finished += 1
                    tally.bytes += file.byteCount
                }
                tell(.success(event), fetched: fetched)
            }
        } catch let error as DownloadError where error.code == .shutDown && isStopping {
            // Its pause was the last that had to be told.
            if download.progress.receivedByteCount > 0 { tally.paused += 1 }
        } catch let error as DownloadError {
            tally.failed += 1
            tell(.failure(error), fetched: download.fetchedHere)
        } catch {
            preconditionFailure("a download ends with a DownloadError, not \(error)")
        }
        tally.fetched += download.fetchedHere
        settle(item.id)
    }

    private func note(_ event: DownloadEvent, of id: Int) {
        switch event {
        case .paused:
            settle(id)
        case .restarted(_, let discarded) where isStopping:
            tally.lost += discarded
        default:
            running.insert(id)
        }
    }

    private func settle(_ id: Int) {
        running.remove(id)
        guard running.isEmpty else { return }
        quiescence?.resume()
        quiescence = nil
    }
}
#endif
