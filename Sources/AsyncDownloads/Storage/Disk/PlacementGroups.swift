internal import Dispatch

/// Placements of short files that are made durable in groups, by one thread for each volume.
///
/// Where the changes of all files become durable together (``VolumeKind/diskWithSharedSyncs``), a thread for each file
/// would wait as long, and resuming all of them would take more processor time than the rest of a short download. While
/// one group is synced, the next one collects.
final class PlacementGroups: Sendable {
    /// A placement, and what its caller has passed.
    fileprivate struct Entry: Sendable {
        var placement: LockFilePlacement
        let isWanted: @Sendable () -> Bool
        let completion: PlacementCompletion
    }

    /// The placements that wait for their group, by volume, as long as the thread of the volume runs.
    private let waiting = Mutex<[UInt64: [Entry]]>([:])

    /// Performs all steps of the placement, and then calls `completion` on another thread, without outcomes if the file
    /// is no longer wanted before it gets its name.
    func add(
        _ placement: LockFilePlacement, on volume: UInt64, ifWanted isWanted: @escaping @Sendable () -> Bool,
        _ completion: @escaping PlacementCompletion
    ) {
        let entry = Entry(placement: placement, isWanted: isWanted, completion: completion)
        let isFirst = waiting.withLock { waiting in
            defer { waiting[volume, default: []].append(entry) }
            return waiting[volume] == nil
        }
        if isFirst { DispatchQueue.runBlocking { self.run(volume) } }
    }

    private func run(_ volume: UInt64) {
        var last = Group()
        while var group = next(volume, after: last) {
            group.write()
            group.synchronizeFiles()
            // With the files of this group, the names of the last one have become durable on most file systems, so that
            // the syncs of the directories wait for nothing.
            last.synchronizeDirectories()
            // This closes the lock files, whose descriptors the last group may need.
            group.rename()
            last.finish()
            last = group
        }
    }

    /// Returns the next group, which is empty if only the last one has to be finished, or nil after that.
    private func next(_ volume: UInt64, after last: Group) -> Group? {
        waiting.withLock { waiting in
            let entries = waiting[volume] ?? []
            guard entries.isEmpty, last.entries.isEmpty else {
                waiting[volume] = []
                return Group(entries: entries)
            }
            waiting[volume] = nil
            return nil
        }
    }
}

/// The placements that share their syncs.
private struct Group {
    var entries: [PlacementGroups.Entry] = []
    /// The results of the syncs of the directories so far.
    private var directories: [ByteText: Result<Void, FileFailure>] = [:]

    init(entries: [PlacementGroups.Entry] = []) {
        self.entries = entries
    }

    mutating func write() {
        for index in entries.indices { entries[index].placement.write() }
    }

    mutating func synchronizeFiles() {
        guard let disk = entries.first?.placement.store.disk else { return }
        let unsynchronized = entries.indices.compactMap { index in
            entries[index].placement.unsynchronizedFile.map { (index: index, file: $0) }
        }
        let failures = disk.synchronize(unsynchronized.map(\.file))
        for ((index, _), failure) in zip(unsynchronized, failures) { entries[index].placement.synchronized(failure) }
    }

    /// Gives the files their names, except those that would keep the others waiting, which leave the group.
    mutating func rename() {
        var renamed: [PlacementGroups.Entry] = []
        for var entry in entries {
            if !entry.isWanted() {
                entry.placement.withdraw()
                entry.completion([])
            } else if entry.placement.mayNamingTakeLong {
                DispatchQueue.runBlocking { [entry] in entry.finishAlone() }
            } else {
                entry.placement.rename()
                renamed.append(entry)
            }
        }
        entries = renamed
    }

    /// Syncs the directories, each once, because all files of the group have their names.
    mutating func synchronizeDirectories() {
        guard let store = entries.first?.placement.store else { return }
        for directory in Set(entries.compactMap(\.placement.unsynchronizedDirectory).map(ByteText.init)) {
            directories[directory] = Result { () throws(FileFailure) in
                try store.synchronizeDirectory(directory.text)
            }
        }
    }

    /// Reports the outcomes, after ``synchronizeDirectories()``.
    func finish() {
        for var entry in entries {
            let result = entry.placement.unsynchronizedDirectory.flatMap { directories[ByteText($0)] }
            if case .failure(let failure)? = result, failure.kind == .tooManyOpenFiles {
                // It can be opened as soon as other files are closed.
                DispatchQueue.runBlocking { [entry] in entry.finishSynchronizing() }
            } else if entry.placement.isLockFileLost {
                DispatchQueue.runBlocking { [entry] in entry.completion(entry.placement.finish()) }
            } else {
                entry.placement.synchronizeDirectories { _ throws(FileFailure) in try result?.get() }
                entry.completion(entry.placement.finish())
            }
        }
    }
}

extension PlacementGroups.Entry {
    /// Performs the steps that follow the sync of the file.
    fileprivate func finishAlone() {
        var entry = self
        entry.placement.rename()
        entry.finishSynchronizing()
    }

    /// Performs the steps after the file has its name.
    fileprivate func finishSynchronizing() {
        var placement = placement
        placement.synchronizeDirectories(with: placement.store.synchronizeDirectoryRetrying)
        completion(placement.finish())
    }
}
