/// The path of a placed file, or the reason why a target received none.
typealias PlacementOutcome = Result<String, DownloadError>

/// A closure that is called with the outcome for each target of a placement.
typealias PlacementCompletion = @Sendable ([PlacementOutcome]) -> Void

extension PartialFile {
    /// Places the finished file of `length` bytes at all targets and removes all files of the partial file.
    ///
    /// Each target receives the file atomically, and only after the bytes are as durable as the store promises. The
    /// first target receives the file itself; the others receive clones or copies. The results are the paths of the
    /// placed files. Errors are reported for each target; after an error, the partial file is kept unless another
    /// target received the file.
    ///
    /// - Parameters:
    ///   - targets: The destinations.
    ///   - length: The length of the file.
    ///   - isWanted: A closure that returns whether the file may still be placed. It is called after the bytes are
    ///     synced, before the first target receives a file. If it returns false, the result is empty, and the partial
    ///     file is kept.
    func place(
        at targets: [PlacementTarget], length: Int64, ifWanted isWanted: () -> Bool = { true }
    ) -> [PlacementOutcome] {
        do {
            // The first attempt may only remove marks that can't be trusted.
            if isInMemory, try !move(to: location, replacingMore: true) {
                _ = try move(to: location, replacingMore: true)
            }
            guard var placement = try lockFilePlacement(targets, length) else {
                return placeFile(at: targets, length: length, ifWanted: isWanted)
            }
            placement.write()
            placement.synchronizeFile()
            guard isWanted() else {
                placement.withdraw()
                return []
            }
            return placement.finishAlone()
        } catch {
            return targets.map { _ in .failure(error) }
        }
    }

    /// Places the finished file like ``place(at:length:ifWanted:)``, but may return before the disk has synced the
    /// file.
    ///
    /// Files of the same volume are synced together if possible.
    ///
    /// - Parameters:
    ///   - targets: The destinations.
    ///   - length: The length of the file.
    ///   - isWanted: A closure that returns whether the file may still be placed; it is called on any thread.
    ///   - completion: A closure that is called with the results if the function returns nil, once, on any thread.
    /// - Returns: The results; nil if `completion` is called with them.
    func place(
        at targets: [PlacementTarget], length: Int64, ifWanted isWanted: @escaping @Sendable () -> Bool,
        completion: @escaping PlacementCompletion
    ) -> [PlacementOutcome]? {
        switch medium {
        case .file: return place(at: targets, length: length, ifWanted: isWanted)
        case .lockedMemory where !store.synchronizes: return place(at: targets, length: length, ifWanted: isWanted)
        case .lockedMemory:
            if mayShareSyncs(targets), let placement = try? lockFilePlacement(targets, length), let volume {
                placement.run(on: volume, ifWanted: isWanted, completion)
                return nil
            }
        case .memory: break
        }
        BlockingThreads.run { [self] in
            completion(place(at: targets, length: length, ifWanted: isWanted))
        }
        return nil
    }
}

// MARK: - The file

extension PartialFile {
    private func placeFile(
        at targets: [PlacementTarget], length: Int64, ifWanted isWanted: () -> Bool = { true }
    ) -> [PlacementOutcome] {
        let file: ClaimedFile
        do {
            file = try prepare(length, for: targets)
        } catch {
            noteFailure(error)
            return targets.map { _ in .failure(DownloadError(error)) }
        }
        guard isWanted() else {
            try? store.disk.setPermissions(.ownerOnly, of: file.handle)
            return []
        }
        var placement = Placement(store: store, names: names, file: file)
        placement.interruptedName = withState { $0.chosenName }
        placement.willTakeName = { [self] name in record(name, for: file, length: length) }
        for target in targets { placement.put(at: target) }
        if placement.isFinished {
            finish(&placement)
        } else {
            placement.synchronizeDirectories(with: store.synchronizeDirectoryRetrying)
            if (try? file.checkOwnership(names, on: store.disk)) != nil {
                try? store.disk.setPermissions(.ownerOnly, of: file.handle)
            }
        }
        return placement.results.map { result in result.mapError { DownloadError($0) } }
    }

    /// Closes the partial file after its file became a destination or is no longer needed.
    private func finish(_ placement: inout Placement) {
        // The files are closed first, because syncing directories needs descriptors, which may be exhausted.
        guard let last = takeAll() else { return }
        // If a name may be lost in a crash, the checkpoint is kept, because the old name may reappear.
        if placement.synchronizeOtherDirectories() {
            clearUp(after: &placement, checkpoint: last.checkpoint?.path)
        }
        lock?.release(removing: true)
    }

    /// Removes the checkpoint, and the partial file unless it became a destination.
    private func clearUp(after placement: inout Placement, checkpoint: String?) {
        // The files are removed before the directory is synced, so that one sync covers both changes.
        if let checkpoint { try? store.disk.remove(checkpoint) }
        if !placement.isTaken { try? store.disk.remove(names.path(placement.file.claim, .partial)) }
        placement.synchronizeOwnDirectory(hasChanged: checkpoint != nil)
    }

    /// Records the name that the file is about to get, so that a later process recognizes the file if this one is
    /// killed.
    ///
    /// The call does nothing if no checkpoint exists, because a later process would then not know of the file at all.
    private func record(_ name: String, for file: ClaimedFile, length: Int64) {
        withState { $0.chosenName = name }
        // All bytes were received, and are as durable as promised.
        let received = IntervalSet(0..<length)
        guard withState({ $0.checkpoint != nil }), let (_, next) = try? nextCheckpoint(received),
            let live = try? replaceCheckpoint(file, by: next)
        else { return }
        install(live, file, received)
    }

    /// Gives the file its final length and permissions, and makes it durable.
    private func prepare(_ length: Int64, for targets: [PlacementTarget]) throws(FileFailure) -> ClaimedFile {
        let file = try usableFile()
        try file.checkOwnership(names, on: store.disk)
        let size = try store.disk.information(of: file.handle).size
        guard size >= length else {
            throw FileFailure(
                .other, errno: 0, operation: "finish", name: file.handle.name,
                reason: "it has \(size) of \(length) bytes")
        }
        // This removes bytes that an earlier process wrote after its checkpoint, and blocks allocated beyond the end.
        if size > length || length >= BlockAllocation.minimumLength { try store.disk.truncate(file.handle, to: length) }
        // Some file systems do not support modes.
        try? store.disk.setPermissions(.ordinary, of: file.handle)
        describe(file, for: targets)
        // Rule 45: writes without a sync may have failed too, which would not be reported after the rename.
        if store.synchronizes(file) { try synchronize(file) } else { try store.disk.checkWrites(to: file.handle) }
        return file
    }
}

extension PartialFile {
    /// Sets the attributes of the complete file, and writes its record, after its last write and before its sync.
    func describe(_ file: ClaimedFile, for targets: [PlacementTarget]) {
        let (representation, isSecret, isMixed) = withState { state in
            (state.representation ?? state.body?.representation, state.isSecret, state.isMixed)
        }
        var request = location.request
        request.hasSecretHeaders = request.hasSecretHeaders || isSecret
        // The first target receives the file itself.
        store.setAttributes(of: file, representation, in: targets.first?.place.directory ?? names.directory)
        store.describe(file, as: request, representation, isProven: !isMixed)
    }
}

// MARK: - The lock file

extension PartialFile {
    /// Whether a placement only has to write, sync, and rename one short file.
    ///
    /// Another directory may be on another, slower volume, and every target except the first receives a copy.
    private func mayShareSyncs(_ targets: [PlacementTarget]) -> Bool {
        site.volume == .diskWithSharedSyncs && targets.count == 1
            && targets.allSatisfy { $0.place.directory.hasSameBytes(as: names.directory) }
    }

    /// Returns a placement of the bytes in memory; nil if the bytes are in a file.
    func lockFilePlacement(
        _ targets: [PlacementTarget], _ length: Int64
    ) throws(DownloadError) -> LockFilePlacement? {
        let site = site
        guard site.medium == .lockedMemory else { return nil }
        guard let body = withState({ $0.body }), body.received.isComplete(below: length), let lock = site.lock,
            let handle = lock.handle, let volume = site.volume
        else { throw DownloadError(withState { $0.notBegun }) }
        let file = ClaimedFile(
            claim: .new(isExclusive: true), handle: handle, information: lock.information, volume: volume)
        return LockFilePlacement(of: self, body.prefix(length), in: file, at: lock.path, targets)
    }

    /// Moves the bytes to a file with a new name, which no other owner has, and places the file.
    func placeMoved(at targets: [PlacementTarget], length: Int64) -> [PlacementOutcome] {
        do {
            try moveToFile()
        } catch {
            return targets.map { _ in .failure(DownloadError(error)) }
        }
        return placeFile(at: targets, length: length)
    }

    /// Whether the lock file was removed, and no other owner has created a new one.
    var isLockFileMissing: Bool {
        do throws(FileFailure) {
            guard let lock else { return false }
            return try store.disk.information(at: lock.path) == nil
        } catch {
            return false
        }
    }

    /// Empties the lock file after bytes were written to it, unless it has become a destination.
    func emptyLockFile(_ file: ClaimedFile) {
        guard let lock, (try? file.checkOwnership(names, at: lock.path, on: store.disk)) != nil else { return }
        try? store.disk.truncate(file.handle, to: 0)
        try? store.disk.setPermissions(.ownerOnly, of: file.handle)
    }
}
