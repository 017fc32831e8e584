private import class Foundation.Thread

/// Keeps the bytes of unfinished downloads in hidden files.
///
/// See ``PartialNames`` for the files, ``Checkpoint`` and ``CheckpointMark`` for what is said of the bytes, and
/// ``DiskPartial`` for what makes one process their owner.
package struct DiskStore: PartialStore {
    let disk: any FileSystem
    let durability: Durability
    /// Names this run of the machine, where the system tells.
    let bootID: String?

    /// Creates a store on the operating system's files.
    package init(durability: Durability = .powerLoss) {
        self.init(disk: POSIXFileSystem(), durability: durability, bootID: POSIXFileSystem.bootID())
    }

    /// Creates a store on any file system; without a `bootID` bytes survive from one checkpoint to the next only.
    package init(disk: any FileSystem, durability: Durability, bootID: String?) {
        self.disk = disk
        self.durability = durability
        self.bootID = bootID
    }

    package func open(_ location: PartialLocation) throws(DownloadError) -> any Partial {
        try open(location, sparing: nil)
    }

    /// Opens what is kept at `site`; a stray file that is `spared` is not removed, whatever its name is.
    func open(_ location: PartialLocation, sparing spared: FileInformation?) throws(DownloadError) -> DiskPartial {
        let names = names(of: location)
        let lock = try acquireLock(names)
        do {
            let opening = PartialOpener(
                store: self, location: location, names: names, mayHoldFiles: !lock.isNew, spared: spared)
            let opened = try opening.run()
            let partial = DiskPartial(store: self, location: location, names: names, lock: lock, opened: opened)
            if opened.hasVoidMarks, case .bytes(_, let received) = opened.finding, !partial.rollBack(to: received) {
                partial.removeCheckpoint()
            }
            return partial
        } catch {
            lock.release(removing: lock.isNew)
            throw DownloadError(error)
        }
    }

    package func refusal(of path: String) -> DownloadError? {
        do {
            try disk.checkReplaceable(path)
            return nil
        } catch {
            // What else is wrong is found where it matters.
            return error.kind == .unusablePath ? DownloadError(error) : nil
        }
    }

    package func holds(_ location: PartialLocation) -> Bool {
        (try? disk.information(at: names(of: location).checkpoint)) != nil
    }

    /// The names of the hidden files of `site`.
    func names(of location: PartialLocation) -> PartialNames { PartialNames(location, user: disk.user) }

    /// Whether what is written must be synced before a checkpoint speaks of it.
    ///
    /// Without a name for the machine's run nothing would tell that the bytes went with it, so then it must, too.
    var synchronizes: Bool { durability == .powerLoss || bootID == nil }

    /// Whether the bytes of `file` must be synced before a checkpoint speaks of them.
    ///
    /// They must on a network file system: it reports late, or never, that it could not send them.
    func synchronizes(_ file: PartialFile) -> Bool { synchronizes || file.volume == .other }

    /// Names the time and place in which bytes of `file` that were not synced are there; nil where nothing tells.
    ///
    /// The device is part of it because one that is pulled out and put back loses them while the machine runs on.
    func session(of file: PartialFile) -> String? { session(device: file.information.device, file.volume) }

    func session(device: UInt64, _ volume: VolumeKind) -> String? {
        volume == .other ? nil : bootID.map { "\($0)/\(device)" }
    }

    /// Syncs a directory in which names were changed that cannot be changed back, so that it waits for a descriptor.
    ///
    /// Some seconds at most. Others of this process come back when their downloads end.
    func synchronizeDirectoryRetrying(_ directory: String) throws(FileFailure) {
        for attempt in 0..<12 {
            do {
                return try disk.synchronizeDirectory(directory)
            } catch let error where error.kind == .tooManyOpenFiles {
                Thread.sleep(forTimeInterval: 0.001 * Double(1 << attempt))
            }
        }
        try disk.synchronizeDirectory(directory)
    }

    private func acquireLock(_ names: PartialNames) throws(DownloadError) -> PartialLock {
        do {
            return try PartialLock.acquire(names, on: disk)
        } catch let error where (error.underlyingError as? FileFailure)?.kind == .missing {
            do {
                try makeDirectory(names.directory)
            } catch {
                throw DownloadError(error)
            }
            return try PartialLock.acquire(names, on: disk)
        }
    }

    /// Makes a directory and those that lead to it.
    func makeDirectory(_ path: String) throws(FileFailure) {
        let parent = PartialNames.directory(of: path)
        do {
            try makeOneDirectory(path, in: parent)
        } catch let error where error.kind == .missing && parent != path {
            try makeDirectory(parent)
            try makeOneDirectory(path, in: parent)
        }
    }

    private func makeOneDirectory(_ path: String, in parent: String) throws(FileFailure) {
        do {
            try disk.makeDirectory(path)
            // Bytes are promised to survive, so the directories that lead to them must.
            if synchronizes { try disk.synchronizeDirectory(parent) }
        } catch let error where error.kind == .exists {
            // Another process was quicker.
        }
    }
}
