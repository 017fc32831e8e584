internal import AsyncDownloads
internal import Foundation

/// One run over a list of items: it starts each download, follows its events, and keeps its bytes if stopped.
actor Session {
    /// A closure that is called with each event and its download.
    typealias Observer = @Sendable (RunEvent, Download) -> Void

    private let downloader: Downloader
    private let settings: RequestSettings
    private let retryPolicy: RetryPolicy
    private let window: Int
    private let version: StagedDirectory?
    /// Whether existing files are kept regardless of their contents.
    private let keepsFiles: Bool
    private let hasDeadline: Bool
    private let observer: Observer?
    private let clock = ContinuousClock()
    private let start: ContinuousClock.Instant

    private var console: Console
    private let results: (any ResultSink)?
    private var outcome = RunOutcome(tally: Tally(total: 0))
    /// The IDs of the downloads that have started, and have neither ended nor paused.
    private var running: Set<Int> = []
    /// The IDs of the downloads whose last event was a failed attempt.
    private var retrying: Set<Int> = []
    /// Whether ``stop()`` was called; no download starts afterward.
    private var isStopping = false
    private var cancelReading: @Sendable () -> Void = {}
    private var quiescence: CheckedContinuation<Void, Never>?
    /// The number of downloads that have started and haven't ended.
    private var openCount = 0
    private let room = RoomSignal()

    /// The maximum number of open downloads in addition to the window.
    private static let mostAdditional = 2048

    /// Creates a session.
    ///
    /// - Parameters:
    ///   - configuration: The configuration of the downloader, which the session shuts down.
    ///   - settings: The settings that are added to each request.
    ///   - window: The number of downloads that are open at the same time; the downloader's limits apply as well. More
    ///     downloads are open while these can't use all permits of the downloader.
    ///   - version: The new version of the output directory, if the downloads are staged.
    ///   - console: The console that shows the events.
    ///   - results: The receiver of the results.
    ///   - observer: A closure that receives the events.
    init(
        _ configuration: Downloader.Configuration, settings: RequestSettings = RequestSettings(), window: Int,
        version: StagedDirectory? = nil, console: Console, results: (any ResultSink)? = nil, observer: Observer? = nil
    ) {
        downloader = Downloader(configuration: configuration)
        retryPolicy = configuration.retryPolicy
        self.settings = settings
        self.window = window
        self.version = version
        hasDeadline = configuration.deadline != .unlimited
        keepsFiles = configuration.existingFilePolicy == .keep
        self.console = console
        self.results = results
        self.observer = observer
        start = clock.now
        downloader.observeFreePermits { [room] in room.signal() }
    }

    /// Downloads the items, starting them in their order.
    ///
    /// Returns when all downloads have ended, or when ``stop()`` has paused them. Must be called only once.
    func run(_ source: some ItemSource) async -> RunOutcome {
        cancelReading = source.cancellation
        let painter = Task { await paint() }
        await withTaskGroup(of: Void.self) { group in
            var source = source
            var startedCount = 0
            while !isStopping {
                count(source)
                while !hasRoom { await room.wait() }
                // The group keeps the results of the tasks that have ended.
                while startedCount > openCount {
                    await group.next()
                    startedCount -= 1
                }
                guard !isStopping, let (next, refusal) = await next(&source), !isStopping else { break }
                var item = next
                if let version { item.directory = version.url }
                if let error = refusal ?? item.pathError {
                    await fail(item, error)
                    continue
                }
                openCount += 1
                startedCount += 1
                let download = start(item, MirrorPlan(item))
                group.addTask { await self.follow(item, download) }
            }
            count(source)
        }
        painter.cancel()
        await downloader.shutdown()
        await finish()
        return outcome
    }

    /// Pauses all downloads, waits until their bytes are saved, and makes ``run(_:)`` return.
    func stop() async {
        guard !isStopping else { return }
        isStopping = true
        cancelReading()
        downloader.pauseAll()
        if !running.isEmpty { await withCheckedContinuation { quiescence = $0 } }
        await downloader.shutdown()
    }

    private var now: Duration { clock.now - start }

    private var hasRoom: Bool {
        if openCount < window { return true }
        guard downloader.hasFreePermit else { return false }
        // The time before a deadline includes the time for which a download waits for its turn.
        let waitingCount = hasDeadline ? downloader.heldUpCount : downloader.waitingCount + retrying.count
        return openCount < window + min(Self.mostAdditional, waitingCount)
    }

    private func count(_ source: some ItemSource) {
        outcome.tally.total = source.knownCount
        outcome.tally.isTotalKnown = source.isComplete || outcome.manifestFailure != nil
        console.expect(source.knownCount, isComplete: outcome.tally.isTotalKnown)
    }

    private func next(_ source: inout some ItemSource) async -> NextItem? {
        do throws(ManifestFailure) {
            return try await source.next()
        } catch {
            outcome.manifestFailure = error
            return nil
        }
    }

    private func paint() async {
        guard console.isLive else { return }
        while !Task.isCancelled {
            console.paint(at: now)
            try? await Task.sleep(for: .milliseconds(100))
        }
    }

    private func finish() async {
        outcome.tally.duration = now
        if let version { outcome = await version.ended(outcome) }
        outcome.outputFailures += await results?.finish(outcome.tally) ?? []
        console.finish(outcome.tally, isSummaryShown: outcome.fullDisk == nil)
        if let failure = StandardOutput.failure { outcome.outputFailures.append(failure.description) }
    }
}

// MARK: - One download

extension Session {
    private func fail(_ item: Item, _ error: DownloadError) async {
        outcome.tally.failed += 1
        await emit(RunEvent(item, time: now, .failure(error)))
        // Many items may be refused in a row, and a signal has to end the run in between.
        await Task.yield()
    }

    private func start(_ item: Item, _ plan: MirrorPlan) -> Download {
        var request = settings.request(for: item, at: plan.address)
        request.retryPolicy = plan.retryPolicy(retryPolicy)
        running.insert(item.id)
        return downloader.start(request)
    }

    /// Follows a download and, if it fails, the downloads from mirrors, until the file is finished or has failed.
    ///
    /// The synchronous functions that it calls aren't inlined, for the reason that ``OpenItem`` gives.
    private func follow(_ item: Item, _ download: Download) async {
        let open = OpenItem(item, download, at: now)
        var isOpen = true
        while isOpen {
            isOpen = false
            do {
                for try await event in open.download.events {
                    let received = now
                    record(event, of: open.id)
                    if !isStopping, open.leaveAddress(after: event) { continue }
                    let sha256 = wantsDigest(after: event) ? await digest(after: event, of: open) : nil
                    let shown = version?.published(event) ?? event
                    await emit(open.event(shown, received: received, sha256: sha256, at: now), of: open.download)
                }
            } catch {
                guard let event = consequence(of: error, for: open) else { break }
                await emit(event, of: open.download)
                // After a stop, nothing would pause the new download.
                guard !event.isFailure, !isStopping else { break }
                open.startAtSelectedAddress(start)
                isOpen = true
            }
        }
        outcome.tally.fetched += open.fetchedByteCount
        removeRunning(open.id)
        openCount -= 1
        room.signal()
    }

    @inline(never)
    private func wantsDigest(after event: DownloadEvent) -> Bool {
        guard case .finished(let file) = event else { return false }
        let need = results?.digests ?? .none
        return need == .all || !file.isReused && (need == .new || console.needsDigests)
    }

    @inline(never)
    private func digest(after event: DownloadEvent, of open: OpenItem) async -> String? {
        guard case .finished(let file) = event else { return nil }
        // A file that is kept was not compared with its checksum.
        return await Digests.sha256(of: file.url, verified: file.isReused && keepsFiles ? nil : open.checksum)
    }

    /// Returns the event after the failure of a download: a retry from the selected address, or the failure of the item.
    ///
    /// The result is nil if the download was paused before a shutdown; the pause was its last event to show.
    @inline(never)
    private func consequence(of error: any Error, for open: OpenItem) -> RunEvent? {
        guard let error = error as? DownloadError else {
            preconditionFailure("a download ends with a DownloadError, not \(error)")
        }
        open.failed()
        if isStopping, error.code == .shutDown || error.code == .cancelled && open.isLeaving {
            if open.download.progress.receivedByteCount > 0 { outcome.tally.paused += 1 }
            return nil
        }
        if !isStopping, let retry = open.selectAddress(after: error, at: now) { return retry }
        outcome.tally.failed += 1
        if error.mayPass { outcome.tally.passing += 1 }
        if error.code == .diskFull { endFullDisk(error) }
        return open.failure(error, at: now)
    }

    private func emit(_ event: RunEvent, of download: Download? = nil) async {
        console.show(event)
        if let download { observer?(event, download) }
        do throws(Misuse) {
            try await results?.take(event)
        } catch {
            guard outcome.outputFailures.isEmpty else { return }
            outcome.outputFailures.append(error.description)
            Task { await stop() }
        }
    }

    /// Stops the run, because no other file will fit either.
    private func endFullDisk(_ error: DownloadError) {
        guard outcome.fullDisk == nil else { return }
        outcome.fullDisk = error
        Task { await stop() }
    }

    @inline(never)
    private func record(_ event: DownloadEvent, of id: Int) {
        // Without a delay, the download waits for a permit, and is counted by the downloader.
        if case .retrying(_, let delay, _) = event, delay > .zero {
            retrying.insert(id)
            room.signal()
        } else {
            retrying.remove(id)
        }
        switch event {
        case .finished(let file):
            outcome.tally.finished += 1
            if file.isReused { outcome.tally.skipped += 1 }
            outcome.tally.bytes += file.byteCount
            running.insert(id)
        case .paused:
            removeRunning(id)
        case .restarted(_, let discarded) where isStopping:
            outcome.tally.lost += discarded
        default:
            running.insert(id)
        }
    }

    private func removeRunning(_ id: Int) {
        running.remove(id)
        retrying.remove(id)
        guard running.isEmpty else { return }
        quiescence?.resume()
        quiescence = nil
    }
}
