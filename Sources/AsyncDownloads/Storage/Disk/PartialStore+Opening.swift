extension PartialStore {
    /// Returns whether a partial file may exist at `location` on disk, without opening it.
    func holds(_ location: PartialLocation) -> Bool {
        (try? disk.information(at: names(of: location).checkpoint)) != nil
    }

    /// Opens the partial file at `location`, or creates a new one, and becomes its only owner across all processes.
    ///
    /// The partial file continues the longest of the bodies of the resource that are found: at the location, in memory,
    /// or at another location on disk, from which the body is moved.
    ///
    /// - Parameters:
    ///   - location: The location.
    ///   - former: Another location at which bytes of the resource may be.
    /// - Throws: ``DownloadError/Code/partialInUse`` while another process owns the partial file, or a disk error.
    ///   Existing files that cannot be used are not an error; ``PartialFile/finding`` reports them.
    func open(
        _ location: PartialLocation, continuing former: PartialLocation? = nil
    ) throws(DownloadError) -> PartialFile {
        let sources = otherLocations(than: location, former)
        // A body isn't written to disk if only its secret headers distinguish it from another user's body.
        let isOnDisk = location.medium == .disk || location.mayBeOnDisk && ([location] + sources).contains(where: holds)
        guard isOnDisk else { return PartialFile(bodies?.take(location), store: self, location: location) }
        do {
            var opening = try beginOpening(location.onDisk)
            if opening.opened.hasVoidMarks { return partial(location.onDisk, opening, medium: .file) }
            var adopted: PartialFile?
            for source in sources where adopted == nil {
                adopted = adopt(from: source, at: location.onDisk, &opening)
            }
            let count = adopted?.finding.received.count ?? opening.opened.finding.received.count
            if let body = bodies?.take(location, ifMoreThan: count) {
                let partial = PartialFile(body, store: self, location: location)
                adopted?.close()
                if adopted == nil { opening.release(on: disk) }
                if location.medium == .memory { return partial }
                if (try? partial.move(to: location)) == true { return partial }
                // The disk may have no space now; the body is kept in memory.
                partial.close()
                return self.partial(location, try beginOpening(location))
            }
            if let adopted { return adopted }
            if location.medium == .memory, opening.opened.file == nil {
                opening.release(on: disk)
                return PartialFile(nil, store: self, location: location)
            }
            if location.isSpilled { bodies?.spilled.opened(location, in: self) }
            return self.partial(location.onDisk, opening, medium: location.medium == .memory ? .file : nil)
        } catch {
            // The body is being written to disk, but can still be taken from memory.
            if location.medium == .memory, error.kind == .inUse, let body = bodies?.take(location) {
                return PartialFile(body, store: self, location: location)
            }
            throw DownloadError(error)
        }
    }

    /// Opens the partial file at `location` to remove it, and removes the bytes of the resource in memory and at
    /// `former`.
    func openToDiscard(
        _ location: PartialLocation, and former: PartialLocation?
    ) throws(DownloadError) -> PartialFile {
        _ = bodies?.take(location)
        for other in otherLocations(than: location, former) where holds(other) {
            try? openFile(other.onDisk, recordingIn: bodies).discard()
        }
        // If no files exist, neither a directory nor a lock file is created. The lock file is the last one to be
        // removed.
        guard holds(location) || location.medium == .disk && hasLockFile(location) else {
            return PartialFile(nil, store: self, location: location)
        }
        return try openFile(location.onDisk, recordingIn: bodies)
    }

    private func hasLockFile(_ location: PartialLocation) -> Bool {
        (try? disk.information(at: names(of: location).lock)) != nil
    }

    /// Opens the partial file and, if its body had to leave memory, records that the body is in use.
    private func openFile(
        _ location: PartialLocation, recordingIn bodies: PartialBodyStore?
    ) throws(DownloadError) -> PartialFile {
        let partial = try openFile(location)
        bodies?.spilled.opened(location, in: self)
        return partial
    }

    /// The other locations on disk at which bytes of the resource may be.
    private func otherLocations(than location: PartialLocation, _ former: PartialLocation?) -> [PartialLocation] {
        [former, bodies == nil ? nil : location.spilled(to: spillDirectory)].compactMap(\.self)
            .filter { names(of: $0) != names(of: location) }
    }

    /// Opens a new partial file at `location`; returns nil if an earlier one may exist.
    ///
    /// The call takes no longer than creating a file, whereas ``open(_:continuing:)`` may have to read or sync existing
    /// bytes.
    func openNew(_ location: PartialLocation) throws(DownloadError) -> PartialFile? {
        if bodies?.holds(location) == true { return nil }
        if location.medium == .memory {
            guard !location.mayBeOnDisk || !holds(location) else { return nil }
            return PartialFile(nil, store: self, location: location)
        }
        if bodies != nil, holds(location.spilled(to: spillDirectory)) { return nil }
        let names = names(of: location)
        do {
            let lock = try PartialLock.acquire(names, on: disk)
            // A new lock file without a checkpoint means that no files exist. ``open(_:continuing:)`` reports failures.
            guard lock.isNew, (try? disk.information(at: names.checkpoint) == nil) ?? false else {
                lock.release(removing: lock.isNew)
                return nil
            }
            let volume = lock.handle.map { disk.volumeKind(of: $0) }
            let opened = PartialOpener.Opened(finding: .nothing)
            return partial(location, Opening(names: names, lock: lock, volume: volume, opened: opened))
        } catch let error where error.kind == .missing {
            // Directories may have to be created and synced, which takes longer.
            return nil
        } catch {
            throw DownloadError(error)
        }
    }

    /// Opens the partial file at `location` on disk, without the bytes of other locations.
    ///
    /// - Parameters:
    ///   - location: The location.
    ///   - spared: A file that is not removed, even if its name belongs to the location.
    func openFile(
        _ location: PartialLocation, sparing spared: FileInformation? = nil
    ) throws(DownloadError) -> PartialFile {
        do {
            return partial(location, try beginOpening(location, sparing: spared), medium: .file)
        } catch {
            throw DownloadError(error)
        }
    }

    /// A location whose lock was acquired, and the files that were found there.
    struct Opening: Sendable {
        let names: PartialNames
        let lock: PartialLock
        /// The kind of the volume that contains the lock file; nil if the lock is not held.
        let volume: VolumeKind?
        var opened: PartialOpener.Opened

        /// Closes the files, releases the lock, and removes the lock file if no other file exists.
        mutating func release(on disk: any FileSystem) {
            let isEmpty = opened.checkpoint == nil && opened.file == nil
            closeFiles(on: disk)
            lock.release(removing: isEmpty)
        }

        mutating func closeFiles(on disk: any FileSystem) {
            for handle in [opened.file?.handle, opened.checkpoint?.handle].compactMap(\.self) { disk.close(handle) }
            (opened.file, opened.checkpoint) = (nil, nil)
        }

        /// Removes the checkpoint, unless it was replaced by the checkpoint of other bytes, and then its file.
        mutating func removeFiles(isReplaced: Bool, on disk: any FileSystem) {
            if let checkpoint = opened.checkpoint, !isReplaced {
                // If the checkpoint can't be removed, its file is kept as well.
                guard (try? disk.remove(checkpoint.path)) != nil else { return }
            }
            if let file = opened.file { try? disk.remove(names.path(file.claim, .partial)) }
            closeFiles(on: disk)
        }
    }

    /// Locks the location, and finds its files.
    func beginOpening(
        _ location: PartialLocation, sparing spared: FileInformation? = nil
    ) throws(FileFailure) -> Opening {
        let names = names(of: location)
        let lock: PartialLock
        do {
            lock = try PartialLock.acquire(names, on: disk)
        } catch let error where error.kind == .missing {
            try makeDirectory(names.directory)
            lock = try PartialLock.acquire(names, on: disk)
        }
        return try examine(names, lock, location, sparing: spared)
    }

    private func examine(
        _ names: PartialNames, _ lock: PartialLock, _ location: PartialLocation, sparing spared: FileInformation?
    ) throws(FileFailure) -> Opening {
        do {
            let opener = PartialOpener(
                store: self, location: location, names: names, lock: lock, spared: spared)
            return Opening(
                names: names, lock: lock, volume: lock.handle.map { disk.volumeKind(of: $0) }, opened: try opener.run())
        } catch {
            lock.release(removing: lock.isNew)
            throw error
        }
    }

    /// Returns the partial file of an opening; if it has no bytes yet, new bytes may be kept in memory at first.
    func partial(
        _ location: PartialLocation, _ opening: Opening, medium: PartialFile.Medium? = nil
    ) -> PartialFile {
        // Where locks may not work, only random names distinguish the files of two owners (``PartialFile``).
        let mayBeInMemory = bufferedLength > 0 && opening.lock.isNew && opening.volume != .other
        let isInMemory = medium == nil && mayBeInMemory && opening.lock.isHeld && opening.opened.finding == .nothing
        let partial = PartialFile(
            opening, store: self, at: location, medium: medium ?? (isInMemory ? .lockedMemory : .file))
        if opening.opened.hasVoidMarks, case .bytes(_, let received) = opening.opened.finding,
            !partial.rollBackInPlace(to: received)
        {
            partial.removeCheckpoint()
        }
        return partial
    }
}
