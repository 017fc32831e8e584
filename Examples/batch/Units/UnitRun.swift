internal import AsyncDownloads
internal import Foundation

/// The processing of the units of a task: it chooses the next item, and records the results.
actor UnitRun: ResultSink {
    /// The number of lanes whose hosts can be reached, from which items can be started at the same time.
    private static let mostReadyLanes = 64
    /// The number of items that may wait for their hosts, which is less than a session opens beyond its window.
    private static let mostHeldUp = 1536
    /// The number of items of a lane that may be open before the first of them has ended.
    private static let mostUnproven = 2
    private static let lockInterval = Duration.seconds(1)
    /// The number of files that the process may have open for each lane that is started.
    ///
    /// A lane has about four: its lock, and the manifest, the journal, and the archive of a unit. The downloads need most of
    /// the others.
    private static let openFilesPerLane = 16

    private let folders: UnitFolders
    private let known: Mutex<Int>
    private let mostActiveLanes: Int
    /// The lanes that haven't been started.
    private var waiting: ArraySlice<UnitLane>
    private var active: [Int: UnitLane] = [:]
    /// The time before which no lane that another process had is locked.
    private var nextLocking: ContinuousClock.Instant?
    private var itemCount = 0
    private var isCanceled = false
    /// Whether to say that the run waits for another process; it is said once.
    private var announcesWaiting: Bool
    private var change: CheckedContinuation<Void, Never>?
    /// The end of the run, as far as it is known.
    private(set) var end = UnitRunEnd()

    /// An existing file was finished by an earlier process, which did not record it.
    nonisolated var digests: DigestNeed { .all }

    /// Creates a run.
    ///
    /// - Parameters:
    ///   - lanes: The units of each lane of the task.
    ///   - folders: The places of files.
    ///   - attemptLimit: The number of times that a unit is processed until its temporary failures are final.
    ///   - openFileLimit: The number of files that the process may have open.
    ///   - isQuiet: Whether to write nothing about waiting for another process.
    init(
        _ lanes: [[UnitIndex.Unit]], in folders: UnitFolders, attemptLimit: Int, openFileLimit: Int, isQuiet: Bool
    ) {
        self.folders = folders
        mostActiveLanes = max(1, openFileLimit / Self.openFilesPerLane)
        announcesWaiting = !isQuiet
        waiting = lanes.map { UnitLane($0, in: folders, attemptLimit: attemptLimit) }[...]
        known = Mutex(lanes.joined().reduce(0) { $0 + $1.count })
        end.unitCount = lanes.joined().count
    }

    /// The number of downloads of all units that had no report when they were opened.
    nonisolated var knownCount: Int { known.withLock(\.self) }

    /// Returns the next item of the lane that has the fewest running downloads; nil at the end and after a cancellation.
    ///
    /// Lanes whose hosts can't be reached come last, unless other lanes wait for their places: they never have a running
    /// download for long.
    func next() async throws(ManifestFailure) -> NextItem? {
        while !isCanceled {
            do throws(Misuse) {
                try startLanes()
                let (promising, unreachable) = readyLanes
                // Otherwise, unreachable lanes would keep the places of the lanes that wait.
                let isFull = !waiting.isEmpty && active.count >= mostActiveLanes
                let lanes = promising.isEmpty || isFull ? promising + unreachable : promising
                if let lane = lanes.min(by: Self.comesBefore) {
                    if let item = try await nextItem(of: lane) { return item }
                    continue
                }
            } catch {
                throw ManifestFailure(name: folders.units.path, line: nil, misuse: error)
            }
            // A lane that waits is started when another process has released it, or when an active lane is done.
            let waitsForLock = nextLocking != nil && readyLanes.promising.count < Self.mostReadyLanes
            guard !waiting.isEmpty || active.values.contains(where: { !$0.isRead }) else { return nil }
            let timer = waitsForLock ? Task { await self.noteChange(after: Self.lockInterval) } : nil
            await withCheckedContinuation { change = $0 }
            timer?.cancel()
        }
        return nil
    }

    /// Ends all waiting for the next item.
    func cancel() {
        isCanceled = true
        for lane in active.values { lane.cancel() }
        noteChange()
    }

    func take(_ event: RunEvent) async throws(Misuse) {
        guard let place = event.original.unit, let lane = active[place.lane] else { return }
        switch event.what {
        case .success(.waiting(let reason)) where reason.end != nil: lane.hold(place)
        case .success(.finished), .failure:
            if case .failure(let error) = event.what, error.concernsStorage { throw Misuse(error.description) }
            try await lane.end(place, with: event)
            retireIfDone(lane)
        case .success(.started), .success(.progress):
            lane.release(place)
            lane.reachedHost()
        case .success: lane.release(place)
        }
        noteChange()
    }

    func finish(_ tally: Tally) async -> [String] {
        var failures: [String] = []
        for lane in active.values {
            end.reportCount += lane.reportCount
            do throws(Misuse) {
                try await lane.suspend()
            } catch {
                failures.append(error.description)
            }
            lane.unlock()
        }
        return failures
    }

    /// The lanes from which an item may be started, those whose hosts can't be reached apart.
    ///
    /// Lanes that have enough items which wait for their hosts are left out, so that another lane can start.
    private var readyLanes: (promising: [UnitLane], unreachable: [UnitLane]) {
        let limit = max(2, Self.mostHeldUp / max(1, active.count))
        var (promising, unreachable): ([UnitLane], [UnitLane]) = ([], [])
        for lane in active.values where !lane.isRead && lane.heldUpCount < limit {
            switch lane.reachability {
            case .unknown: if lane.openCount < Self.mostUnproven { promising.append(lane) }
            case .reached: promising.append(lane)
            case .unreachable: unreachable.append(lane)
            }
        }
        return (promising, unreachable)
    }

    private static func comesBefore(_ lane: UnitLane, _ other: UnitLane) -> Bool {
        (lane.runningCount, lane.number) < (other.runningCount, other.number)
    }

    /// Starts lanes that no other process has locked, until enough lanes whose hosts can be reached are ready, or as many
    /// are active as the limit of open files permits.
    private func startLanes() throws(Misuse) {
        if let nextLocking, .now < nextLocking { return }
        var count = readyLanes.promising.count
        var busy: [UnitLane] = []
        while count < Self.mostReadyLanes, active.count < mostActiveLanes, let lane = waiting.popFirst() {
            if try lane.lock() {
                active[lane.number] = lane
                count += 1
            } else {
                busy.append(lane)
            }
        }
        nextLocking = busy.isEmpty ? nil : .now + Self.lockInterval
        if !busy.isEmpty, waiting.isEmpty, active.isEmpty, announcesWaiting {
            announcesWaiting = false
            StandardError.write("waiting   for another process that downloads the same units\n")
        }
        waiting += busy
    }

    private func nextItem(of lane: UnitLane) async throws(Misuse) -> NextItem? {
        let next = try await lane.next()
        let settledCount = lane.takeSettledCount()
        known.withLock { $0 -= settledCount }
        guard var item = next else {
            retireIfDone(lane)
            return nil
        }
        item.id = itemCount
        itemCount += 1
        return (item, nil)
    }

    private func retireIfDone(_ lane: UnitLane) {
        guard lane.isDone, active.removeValue(forKey: lane.number) != nil else { return }
        end.reportCount += lane.reportCount
        lane.unlock()
    }

    private func noteChange() {
        change?.resume()
        change = nil
    }

    private func noteChange(after delay: Duration) async {
        // After a cancellation, something else has changed.
        guard (try? await Task.sleep(for: delay)) != nil else { return }
        noteChange()
    }
}

extension DownloadError {
    /// Whether the reason is this machine's storage, which says nothing about the URL.
    fileprivate var concernsStorage: Bool {
        switch code {
        case .diskFull, .permissionDenied, .storageFailure, .tooManyOpenFiles: true
        default: false
        }
    }
}
