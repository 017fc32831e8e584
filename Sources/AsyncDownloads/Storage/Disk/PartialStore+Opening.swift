extension PartialStore {
    /// Opens the partial file at `location`, or creates a new one, and becomes its only owner across all processes.
    ///
    /// A request continues from wherever the bytes of the resource are: a file from a body that was in memory or had to
    /// leave it, and a body from one that had to leave memory.
    ///
    /// - Parameter former: Another location at which bytes of the resource may be, to continue from.
    /// - Throws: ``DownloadError/Code/partialInUse`` while another process owns the partial file, or a disk error.
    ///   Existing files that cannot be used are not an error; ``PartialFile/finding`` reports them.
    package func open(
        _ location: PartialLocation, continuing former: PartialLocation? = nil
    ) throws(DownloadError) -> PartialFile {
        if location.medium == .memory, former == nil {
            if let body = bodies?.take(location) { return PartialFile(body, store: self, location: location) }
            // A body is not written to disk if only its secret headers distinguish it from another user's.
            guard location.mayBeOnDisk, holds(location) else {
                return PartialFile(nil, store: self, location: location)
            }
            bodies?.spilled.opened(location, in: self)
            return try openFile(location.onDisk)
        }
        if let body = bodies?.take(location) {
            let partial = PartialFile(body, store: self, location: location)
            if (try? partial.move(to: location)) == true { return partial }
            // More bytes are on disk, or the disk has no space yet; the body is kept in memory.
            partial.close()
        }
        do {
            let opening = try beginOpening(location.onDisk)
            let spilled = bodies == nil ? nil : location.spilled(to: spillDirectory)
            for source in [former, spilled].compactMap(\.self) where names(of: source) != opening.names {
                if let adopted = adopt(from: source.onDisk, at: location.onDisk, opening) { return adopted }
            }
            return partial(location.onDisk, opening)
        } catch {
            throw DownloadError(error)
        }
    }

    /// Opens a new partial file at `location` if nothing of an earlier one may exist; otherwise returns nil.
    ///
    /// This takes no longer than creating a file. ``open(_:)`` may have to read or sync the bytes that it finds.
    package func openNew(_ location: PartialLocation) throws(DownloadError) -> PartialFile? {
        if bodies?.holds(location) == true { return nil }
        if location.medium == .memory {
            guard !location.mayBeOnDisk || !holds(location) else { return nil }
            return PartialFile(nil, store: self, location: location)
        }
        if bodies != nil, holds(location.spilled(to: spillDirectory)) { return nil }
        let names = names(of: location)
        do {
            let lock = try PartialLock.acquire(names, on: disk)
            guard lock.isNew else {
                lock.release(removing: false)
                return nil
            }
            return partial(location, try examine(names, lock, location, sparing: nil))
        } catch let error where error.kind == .missing {
            // A directory may have to be created, and the one above it synced.
            return nil
        } catch {
            throw DownloadError(error)
        }
    }

    /// Opens the partial file at `location` with its bytes on disk; the file `spared` is not removed, whatever its name is.
    func openFile(
        _ location: PartialLocation, sparing spared: FileInformation? = nil
    ) throws(DownloadError) -> PartialFile {
        do {
            return partial(location, try beginOpening(location, sparing: spared), medium: .file)
        } catch {
            throw DownloadError(error)
        }
    }

    /// A location whose lock was acquired, and what was found there.
    struct Opening: Sendable {
        let names: PartialNames
        let lock: PartialLock
        /// The kind of the volume that contains the lock file; nil if the lock is not held.
        let volume: VolumeKind?
        var opened: PartialOpener.Opened

        /// Closes the files, and removes the lock file if nothing else is left.
        func release(on disk: any FileSystem) {
            if let file = opened.file { disk.close(file.handle) }
            if let checkpoint = opened.checkpoint { disk.close(checkpoint.handle) }
            lock.release(removing: opened.checkpoint == nil)
        }

        /// Removes the checkpoint, then the file that it describes.
        mutating func removeFiles(on disk: any FileSystem) throws(FileFailure) {
            if let checkpoint = opened.checkpoint {
                try disk.remove(names.checkpoint)
                disk.close(checkpoint.handle)
                opened.checkpoint = nil
            }
            if let file = opened.file {
                try disk.remove(names.path(file.claim, .partial))
                disk.close(file.handle)
                opened.file = nil
            }
        }
    }

    /// Locks the location, and finds what is there.
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
                store: self, location: location, names: names, mayHoldFiles: !lock.isNew, spared: spared)
            return Opening(
                names: names, lock: lock, volume: lock.handle.map { disk.volumeKind(of: $0) }, opened: try opener.run())
        } catch {
            lock.release(removing: lock.isNew)
            throw error
        }
    }

    /// Returns the partial file, whose bytes are in memory at first if there are none and they may be.
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
