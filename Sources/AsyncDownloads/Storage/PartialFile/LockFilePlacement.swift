internal import struct Foundation.Data

/// The placement of the bytes that a ``PartialFile`` has in memory.
///
/// The bytes are written to the lock file. After a sync, the lock file is renamed to a target, and then the target's
/// directory is synced. ``run(on:ifWanted:_:)`` shares both syncs with other placements on the volume.
struct LockFilePlacement: Sendable {
    private let partial: PartialFile
    private let bytes: Data
    private let targets: [PlacementTarget]
    private let lockPath: String
    private var placement: Placement
    /// The reason why no target received a file.
    private var failure: FileFailure?

    private var file: ClaimedFile { placement.file }
    var store: PartialStore { partial.store }

    /// Creates a placement, which has not begun.
    ///
    /// - Parameters:
    ///   - partial: The partial file.
    ///   - bytes: All bytes of the finished file.
    ///   - file: The lock file.
    ///   - path: The path of the lock file.
    ///   - targets: The destinations.
    init(
        of partial: PartialFile, _ bytes: Data, in file: ClaimedFile, at path: String, _ targets: [PlacementTarget]
    ) {
        self.partial = partial
        self.bytes = bytes
        self.targets = targets
        lockPath = path
        placement = Placement(store: partial.store, names: partial.names, file: file, at: path)
    }

    /// Writes the bytes to the lock file.
    mutating func write() {
        // The free space isn't checked, because only a few bytes are written, and they stay in memory if the disk is
        // full.
        do throws(FileFailure) {
            let result = bytes.withUnsafeBytes { buffer in
                Result { () throws(FileFailure) in try store.disk.write(buffer, to: file.handle, at: 0) }
            }
            try result.get()
            // Some file systems do not support modes.
            try? store.disk.setPermissions(.ordinary, of: file.handle)
            partial.describe(file, for: targets)
        } catch {
            fail(error)
        }
    }

    /// Syncs the file if the store promises it, because a failed write is not reported after the rename (rule 45).
    ///
    /// If the file isn't synced, no errors have to be checked: the file is on a local disk, which reports them at once.
    mutating func synchronizeFile() {
        guard failure == nil, store.synchronizes(file) else { return }
        do throws(FileFailure) { try store.disk.synchronize(file.handle) } catch { fail(error) }
    }

    /// Places the file at the targets, syncs their directories, and returns the outcomes.
    consuming func finishAlone() -> [PlacementOutcome] {
        rename()
        return finishSynchronizing()
    }

    private consuming func finishSynchronizing() -> [PlacementOutcome] {
        if failure == nil { placement.synchronizeDirectories(with: store.synchronizeDirectoryRetrying) }
        return finish()
    }

    /// Places the file at the targets.
    private mutating func rename() {
        guard failure == nil else { return }
        do {
            // The name is not random, so another owner may use it where locks do not work.
            try file.checkOwnership(partial.names, at: lockPath, on: store.disk)
        } catch {
            return fail(error)
        }
        for target in targets { placement.put(at: target) }
        guard placement.isFinished else { return partial.emptyLockFile(file) }
        _ = partial.takeAll()
        // The lock is released before directories are synced, because a sync needs a descriptor.
        partial.lock?.release(removing: !placement.isTaken)
    }

    /// Whether ``rename()`` may take long: another thread uses the name, or existing files have to be compared.
    var mayNamingTakeLong: Bool {
        targets.contains { target in
            if target.names.isDeciding(about: target.place) { return true }
            guard case .directory(let directory, let name, let isCallers, _) = target.place else { return false }
            let path = PartialNames.join(directory, name)
            guard target.isFree(path) else { return true }
            let isAbsent = (try? store.disk.information(at: path)) == .some(nil)
            return !isAbsent && !(isCallers && (try? placement.mayReplace(path, for: target)) == true)
        }
    }

    /// Whether ``finish()`` has to write the bytes again, because the lock file was removed.
    private var isLockFileLost: Bool { failure?.kind == .inUse && partial.isLockFileMissing }

    /// Empties the lock file after ``write()``, instead of placing the file.
    func withdraw() { partial.emptyLockFile(file) }

    /// Performs the last step, and returns the outcome for each target.
    private func finish() -> [PlacementOutcome] {
        guard let failure else { return placement.results.map { result in result.mapError { DownloadError($0) } } }
        if isLockFileLost { return partial.placeMoved(at: targets, length: Int64(bytes.count)) }
        return targets.map { _ in .failure(DownloadError(failure)) }
    }

    private mutating func fail(_ failure: FileFailure) {
        self.failure = failure
        partial.emptyLockFile(file)
        if failure.kind == .inUse, !partial.isLockFileMissing { partial.noteFailure(failure) }
    }
}

// MARK: - Shared syncs

extension LockFilePlacement {
    /// Performs all steps without waiting for a sync; each sync is shared with other placements on the volume.
    ///
    /// - Parameters:
    ///   - volume: The device number of the volume, which has one directory for all targets.
    ///   - isWanted: A closure that returns whether the file may still be placed; it is called on any thread.
    ///   - completion: A closure that is called once, on another thread, with the outcomes; they are empty if
    ///     `isWanted` returned false.
    func run(
        on volume: UInt64, ifWanted isWanted: @escaping @Sendable () -> Bool,
        _ completion: @escaping PlacementCompletion
    ) {
        var placement = self
        placement.write()
        guard placement.failure == nil else {
            return BlockingThreads.run { [placement] in
                placement.synchronized(nil, on: volume, ifWanted: isWanted, completion)
            }
        }
        store.syncs.add(.file(file.handle), on: volume) { [placement] failure in
            placement.synchronized(failure, on: volume, ifWanted: isWanted, completion)
        }
    }

    /// Places the synced file; if this may take long, another thread does it, so that other placements don't wait.
    private func synchronized(
        _ failure: FileFailure?, on volume: UInt64, ifWanted isWanted: () -> Bool,
        _ completion: @escaping PlacementCompletion
    ) {
        var placement = self
        if let failure { placement.fail(failure) }
        guard isWanted() else {
            placement.withdraw()
            return completion([])
        }
        if placement.failure == nil, placement.mayNamingTakeLong {
            return BlockingThreads.run { [placement] in completion(placement.finishAlone()) }
        }
        placement.rename()
        guard placement.failure == nil else {
            // The bytes may have to be written again.
            return BlockingThreads.run { [placement] in completion(placement.finish()) }
        }
        store.syncs.add(.directory(partial.names.directory), on: volume) { [placement] failure in
            placement.synchronizedDirectory(failure, completion)
        }
    }

    /// Reports the outcomes after the sync of the directory.
    private func synchronizedDirectory(_ failure: FileFailure?, _ completion: @escaping PlacementCompletion) {
        var placement = self
        if failure?.kind == .tooManyOpenFiles {
            // The directory can be opened when other files have been closed.
            return BlockingThreads.run { [placement] in completion(placement.finishSynchronizing()) }
        }
        placement.placement.synchronizeDirectories { _ throws(FileFailure) in if let failure { throw failure } }
        completion(placement.finish())
    }
}
