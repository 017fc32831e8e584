private import class Foundation.Thread

/// A store that keeps the bytes of unfinished downloads in hidden files.
///
/// ``PartialNames`` describes the files, ``Checkpoint`` and ``CheckpointMark`` describe their contents, and
/// ``DiskPartial`` describes how one process owns them.
package struct DiskStore: PartialStore {
    let disk: any FileSystem
    let durability: Durability
    /// The identifier of the current boot of the machine, or nil if the system does not provide one.
    let bootID: String?
    /// The length up to which the bytes of a new file are kept in memory until it is complete.
    let bufferedLength: Int64
    private let directorySyncs = SharedSyncs()
    let placementGroups = PlacementGroups()

    /// Creates a store that uses the operating system's files.
    package init(durability: Durability = .powerLoss, bufferedLength: Int64 = BufferedPartial.maximumLength) {
        self.init(
            disk: POSIXFileSystem(), durability: durability, bootID: POSIXFileSystem.bootID(),
            bufferedLength: bufferedLength)
    }

    /// Creates a store that uses any file system.
    ///
    /// Without a `bootID`, bytes survive from checkpoint to checkpoint only.
    package init(disk: any FileSystem, durability: Durability, bootID: String?, bufferedLength: Int64 = 0) {
        self.disk = disk
        self.durability = durability
        self.bootID = bootID
        self.bufferedLength = bufferedLength
    }

    package func open(_ location: PartialLocation) throws(DownloadError) -> any Partial {
        partial(location, try beginOpening(names(of: location), location, sparing: nil))
    }

    package func openNew(_ location: PartialLocation) throws(DownloadError) -> (any Partial)? {
        let names = names(of: location)
        let lock: PartialLock
        do {
            lock = try PartialLock.acquire(names, on: disk)
        } catch let error where (error.underlyingError as? FileFailure)?.kind == .missing {
            // A directory may have to be created, and the one above it synced.
            return nil
        }
        guard lock.isNew else {
            lock.release(removing: false)
            return nil
        }
        return partial(location, try examine(names, lock, location, sparing: nil))
    }

    /// Returns the partial, whose bytes are in memory at first if there are none and they may be.
    private func partial(_ location: PartialLocation, _ opening: Opening) -> any Partial {
        guard bufferedLength > 0, opening.lock.isNew, opening.opened.finding == .nothing,
            let handle = opening.lock.handle
        else { return diskPartial(location, opening) }
        // Where locks may not work, only random names distinguish the files of two owners (``DiskPartial``).
        let volume = disk.volumeKind(of: handle)
        guard volume != .other else { return diskPartial(location, opening) }
        return BufferedPartial(
            store: self, location: location, names: opening.names, lock: opening.lock, volumeKind: volume)
    }

    /// Opens the partial at `location`; the file `spared` is not removed, whatever its name is.
    func open(_ location: PartialLocation, sparing spared: FileInformation?) throws(DownloadError) -> DiskPartial {
        diskPartial(location, try beginOpening(names(of: location), location, sparing: spared))
    }

    /// A location whose lock was acquired, and what was found there.
    private typealias Opening = (names: PartialNames, lock: PartialLock, opened: PartialOpener.Opened)

    private func beginOpening(
        _ names: PartialNames, _ location: PartialLocation, sparing spared: FileInformation?
    ) throws(DownloadError) -> Opening {
        try examine(names, try acquireLock(names), location, sparing: spared)
    }

    private func examine(
        _ names: PartialNames, _ lock: PartialLock, _ location: PartialLocation, sparing spared: FileInformation?
    ) throws(DownloadError) -> Opening {
        do {
            let opener = PartialOpener(
                store: self, location: location, names: names, mayHoldFiles: !lock.isNew, spared: spared)
            return (names, lock, try opener.run())
        } catch {
            lock.release(removing: lock.isNew)
            throw DownloadError(error)
        }
    }

    private func diskPartial(_ location: PartialLocation, _ opening: Opening) -> DiskPartial {
        let partial = DiskPartial(
            store: self, location: location, names: opening.names, lock: opening.lock, opened: opening.opened)
        if opening.opened.hasVoidMarks, case .bytes(_, let received) = opening.opened.finding,
            !partial.rollBack(to: received)
        {
            partial.removeCheckpoint()
        }
        return partial
    }

    package func refusal(of path: String) -> DownloadError? {
        do {
            try disk.checkReplaceable(path)
            return nil
        } catch {
            // Other failures are reported by the operation that they affect.
            return error.kind == .unusablePath ? DownloadError(error) : nil
        }
    }

    package func holds(_ location: PartialLocation) -> Bool {
        (try? disk.information(at: names(of: location).checkpoint)) != nil
    }

    /// Returns the names of the hidden files of `location`.
    func names(of location: PartialLocation) -> PartialNames { PartialNames(location, user: disk.user) }

    /// Whether bytes are synced before a checkpoint describes them.
    ///
    /// Without an identifier of the boot, a loss of unsynced bytes could not be detected, so the bytes are synced as
    /// well.
    var synchronizes: Bool { durability == .powerLoss || bootID == nil }

    /// Returns whether the bytes of `file` are synced before a checkpoint describes them.
    ///
    /// On a network file system they always are, because it reports late or never that it could not send them.
    func synchronizes(_ file: PartialFile) -> Bool { synchronizes || file.volume == .other }

    /// Returns the session in which unsynced bytes of `file` are known to exist, or nil if that cannot be determined.
    ///
    /// The device is a part of it because a device that is removed and attached again loses unsynced bytes while the
    /// machine keeps running.
    func session(of file: PartialFile) -> String? { session(device: file.information.device, file.volume) }

    func session(device: UInt64, _ volume: VolumeKind) -> String? {
        volume == .other ? nil : bootID.map { "\($0)/\(device)" }
    }

    /// Syncs a directory; one sync serves all downloads that end at the same time.
    func synchronizeDirectory(_ directory: String) throws(FileFailure) {
        try directorySyncs.synchronize(directory) { () throws(FileFailure) in
            try disk.synchronizeDirectory(directory)
        }
    }

    /// Syncs a directory after irreversible changes of names, waiting some seconds for a descriptor if necessary.
    ///
    /// Descriptors become available when other downloads of this process end.
    func synchronizeDirectoryRetrying(_ directory: String) throws(FileFailure) {
        for attempt in 0..<12 {
            do {
                return try synchronizeDirectory(directory)
            } catch let error where error.kind == .tooManyOpenFiles {
                Thread.sleep(forTimeInterval: 0.001 * Double(1 << attempt))
            }
        }
        try synchronizeDirectory(directory)
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

    /// Creates a directory and the missing directories above it.
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
            // The bytes are durable only if the directories above them are.
            if synchronizes { try disk.synchronizeDirectory(parent) }
        } catch let error where error.kind == .exists {
            // Another process was faster.
        }
    }
}
