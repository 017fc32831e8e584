internal import AsyncDownloads
internal import Foundation

/// The units of a lane in one task, whose manifests are read one after another; only ``UnitRun`` uses it.
///
/// Items of later units start while the last ones of earlier units are being downloaded.
final class UnitLane {
    /// A unit with downloads that have not ended.
    private struct OpenUnit {
        let progress: UnitProgress
        /// The number of downloads that have started and not ended.
        var openCount = 0
        /// Whether all items have started.
        var isRead = false
    }

    /// Whether the host of the lane can be reached, according to the last download that has received a response or ended.
    enum Reachability {
        case unknown, reached, unreachable
    }

    /// The manifest that is being read.
    private struct Reading {
        let unit: UnitIndex.Unit
        let reader: ManifestReader
        /// The numbers of the items that an earlier process has completed.
        let settled: Set<Int>
        var items: ArraySlice<Item> = []
        var nextID = 0
        var isLast = false
    }

    /// The number of items that are read together, which is small because a task may have a thousand lanes.
    private static let partLength = 32

    let number: Int
    private let folders: UnitFolders
    private let attemptLimit: Int
    private var rest: ArraySlice<UnitIndex.Unit>
    private var reading: Reading?
    private var open: [String: OpenUnit] = [:]
    private var heldUp: Set<UnitPlace> = []
    private var laneLock: LaneLock?
    /// The number of calls that wait for the disk, during which the lane isn't done.
    private var callCount = 0
    private var settledCount = 0

    /// The number of units that have reports.
    private(set) var reportCount = 0
    private(set) var reachability = Reachability.unknown

    /// Creates a lane with at least one unit.
    init(_ units: [UnitIndex.Unit], in folders: UnitFolders, attemptLimit: Int) {
        (rest, number) = (units[...], units[0].lane)
        (self.folders, self.attemptLimit) = (folders, attemptLimit)
    }

    /// Whether all items have started.
    var isRead: Bool { reading == nil && rest.isEmpty }

    /// Whether all items have started and ended.
    var isDone: Bool { isRead && open.isEmpty && callCount == 0 }

    /// The number of downloads that wait for their hosts.
    var heldUpCount: Int { heldUp.count }

    /// The number of downloads that have started and not ended.
    var openCount: Int { open.values.reduce(0) { $0 + $1.openCount } }

    /// The number of downloads that have started and not ended, without those that wait for their hosts.
    var runningCount: Int { openCount - heldUp.count }

    /// Locks the lane; returns false if another process has it.
    func lock() throws(Misuse) -> Bool {
        laneLock = try LaneLock.attempt(folders.lock(ofLane: number))
        return laneLock != nil
    }

    func unlock() {
        laneLock?.release()
        laneLock = nil
    }

    /// Returns the next item; nil at the end, and after a cancellation.
    func next() async throws(Misuse) -> Item? {
        callCount += 1
        defer { callCount -= 1 }
        while true {
            guard var current = reading else {
                guard let unit = rest.popFirst() else { return nil }
                try await start(unit)
                continue
            }
            if let item = current.items.popFirst() {
                let place = UnitPlace(lane: number, unit: current.unit.unit, id: current.nextID)
                current.nextID += 1
                reading = current
                guard !current.settled.contains(place.id) else { continue }
                open[place.unit]?.openCount += 1
                var placed = item
                (placed.directory, placed.unit) = (folders.files(of: current.unit), place)
                return placed
            }
            if current.isLast {
                reading = nil
                open[current.unit.unit]?.isRead = true
                try await finishIfDone(current.unit.unit)
                continue
            }
            let part: ManifestReader.Part
            do throws(ManifestFailure) {
                part = try await current.reader.next()
                if let failure = part.failure { throw failure }
            } catch {
                throw Misuse(error.description)
            }
            guard part.isLast || !part.entries.isEmpty else { return nil }
            (current.items, current.isLast) = (part.entries.map(\.item)[...], part.isLast)
            reading = current
        }
    }

    /// Ends the wait for the next item.
    func cancel() { reading?.reader.cancel() }

    /// Records that a download waits for its host.
    func hold(_ place: UnitPlace) { heldUp.insert(place) }

    /// Records that a download no longer waits for its host.
    func release(_ place: UnitPlace) { heldUp.remove(place) }

    /// Records that a download receives its file.
    func reachedHost() { reachability = .reached }

    /// Records the end of a download.
    func end(_ place: UnitPlace, with event: RunEvent) async throws(Misuse) {
        guard let progress = open[place.unit]?.progress else { return }
        callCount += 1
        defer { callCount -= 1 }
        try await DiskQueue.run { () throws(Misuse) in try progress.record(event, id: place.id) }
        heldUp.remove(place)
        open[place.unit]?.openCount -= 1
        reachability = event.isUnreachable ? .unreachable : .reached
        try await finishIfDone(place.unit)
    }

    /// Saves the results of the units whose downloads have not all ended.
    func suspend() async throws(Misuse) {
        for unit in open.values {
            try await DiskQueue.run { [progress = unit.progress] () throws(Misuse) in try progress.suspend() }
        }
        open = [:]
    }

    /// Returns the number of downloads that were found to be completed since the last call.
    func takeSettledCount() -> Int {
        defer { settledCount = 0 }
        return settledCount
    }

    /// Opens a unit, unless it has a report.
    private func start(_ unit: UnitIndex.Unit) async throws(Misuse) {
        let opened = try await DiskQueue.run { [folders] () throws(Misuse) -> UnitProgress? in
            try UnitProgress.isDone(unit, in: folders) ? nil : UnitProgress(unit, in: folders)
        }
        guard let opened else {
            reportCount += 1
            settledCount += unit.count
            return
        }
        let settled = opened.settled
        settledCount += settled.count
        open[unit.unit] = OpenUnit(progress: opened)
        reading = Reading(
            unit: unit,
            reader: ManifestReader(
                folders.manifest(of: unit).path, ManifestParser(), partLength: Self.partLength),
            settled: settled)
    }

    private func finishIfDone(_ name: String) async throws(Misuse) {
        guard let unit = open[name], unit.isRead, unit.openCount == 0 else { return }
        open[name] = nil
        let hasReport = try await DiskQueue.run { [attemptLimit] () throws(Misuse) in
            try unit.progress.finish(attemptLimit: attemptLimit)
        }
        if hasReport { reportCount += 1 }
    }
}

extension RunEvent {
    /// Whether a download has failed because its host can't be reached.
    fileprivate var isUnreachable: Bool {
        guard case .failure(let error) = what else { return false }
        return [.hostNotFound, .cannotConnect].contains(error.code)
    }
}
