internal import Dispatch

/// Placements of short files that are made durable in groups, by one thread for each volume.
///
/// Where the changes of all files become durable together (``VolumeKind/diskWithSharedSyncs``), a thread for each file
/// would wait as long, and resuming all of them would take more processor time than the rest of a short download. While
/// one group is synced, the next one collects.
final class PlacementGroups: Sendable {
    private struct Entry: Sendable {
        var placement: BufferedPlacement
        let completion: PlacementCompletion
    }

    /// The placements that wait for their group, by volume, as long as the thread of the volume runs.
    private let waiting = Mutex<[UInt64: [Entry]]>([:])

    /// Performs all steps of the placement, and then calls `completion` on another thread.
    func add(_ placement: BufferedPlacement, on volume: UInt64, _ completion: @escaping PlacementCompletion) {
        let entry = Entry(placement: placement, completion: completion)
        let isFirst = waiting.withLock { waiting in
            defer { waiting[volume, default: []].append(entry) }
            return waiting[volume] == nil
        }
        guard isFirst else { return }
        // A queue without a target has a thread, which waits for the disk.
        DispatchQueue(label: "async-downloads.placements", qos: .userInitiated).async { self.run(volume) }
    }

    private func run(_ volume: UInt64) {
        var last: [Entry] = []
        while var group = next(volume, after: last) {
            for index in group.indices { group[index].placement.write() }
            synchronize(&group)
            // With the files of the next group, the names of the last one have become durable on most file systems,
            // so that the sync of the directory waits for nothing.
            finish(&last)
            for index in group.indices { group[index].placement.rename() }
            last = group
        }
    }

    /// Returns the next group, which is empty if only the last one has to be finished, or nil after that.
    private func next(_ volume: UInt64, after last: [Entry]) -> [Entry]? {
        waiting.withLock { waiting in
            let group = waiting[volume] ?? []
            guard group.isEmpty, last.isEmpty else {
                waiting[volume] = []
                return group
            }
            waiting[volume] = nil
            return nil
        }
    }

    private func synchronize(_ group: inout [Entry]) {
        guard let disk = group.first?.placement.store.disk else { return }
        let unsynchronized = group.indices.compactMap { index in
            group[index].placement.unsynchronizedFile.map { (index: index, file: $0) }
        }
        let failures = disk.synchronize(unsynchronized.map(\.file))
        for ((index, _), failure) in zip(unsynchronized, failures) { group[index].placement.synchronized(failure) }
    }

    private func finish(_ group: inout [Entry]) {
        guard let store = group.first?.placement.store else { return }
        // One sync serves all placements of the group, because all their files have their names.
        var synchronized: [ByteText: Result<Void, FileFailure>] = [:]
        for index in group.indices {
            group[index].placement.synchronizeDirectories { directory throws(FileFailure) in
                let key = ByteText(directory)
                let result =
                    synchronized[key]
                    ?? Result { () throws(FileFailure) in try store.synchronizeDirectoryRetrying(directory) }
                synchronized[key] = result
                try result.get()
            }
        }
        for entry in group { entry.completion(entry.placement.finish()) }
    }
}
