internal import Dispatch

internal import struct Foundation.Data

/// The placement of the bytes of a ``PartialFile`` that are in memory.
///
/// The bytes are written to the lock file, which becomes the file of a target after it was synced. Then its directory
/// is synced. ``run(on:ifWanted:_:)`` shares both syncs with other placements of the volume.
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

    /// - Parameters:
    ///   - file: The lock file.
    ///   - path: The path of the lock file.
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
        // The free space isn't checked: a few bytes are written at once, and a full disk loses none of them.
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

    /// Syncs the file, because a failed write is not reported after the rename (rule 45).
    ///
    /// A local disk, which this is, has no errors that it reports only when the file is closed.
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
            // The name is not random, so another owner may have it where locks do not work.
            try file.checkOwnership(partial.names, at: lockPath, on: store.disk)
        } catch {
            return fail(error)
        }
        for target in targets { placement.put(at: target) }
        guard placement.isFinished else { return partial.emptyLockFile(file) }
        _ = partial.takeAll()
        // Before directories are synced, which needs descriptors.
        partial.lock?.release(removing: !placement.isTaken)
    }

    /// Whether ``rename()`` may take long: another thread decides about the name, or existing files are compared.
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

    /// Whether ``finish()`` has to write the bytes again, because something has removed the lock file.
    private var isLockFileLost: Bool { failure?.kind == .inUse && partial.isLockFileMissing }

    /// Restores the lock file after ``write()`` instead of placing the file.
    func withdraw() { partial.emptyLockFile(file) }

    /// Returns the outcome for each target, after the last step.
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
    /// Performs all steps without waiting for a sync; each sync serves other placements of the volume as well.
    ///
    /// - Parameters:
    ///   - volume: The device number of the volume, which has one directory for all targets.
    ///   - isWanted: A closure that returns whether the file may still be placed; it is called on any thread.
    ///   - completion: A closure that is called once, on another thread, with the outcomes; there are none if the file
    ///     is no longer wanted before it gets its name.
    func run(
        on volume: UInt64, ifWanted isWanted: @escaping @Sendable () -> Bool,
        _ completion: @escaping PlacementCompletion
    ) {
        var placement = self
        placement.write()
        guard placement.failure == nil else {
            return DispatchQueue.runBlocking { [placement] in
                placement.synchronized(nil, on: volume, ifWanted: isWanted, completion)
            }
        }
        store.syncs.add(.file(file.handle), in: .volume(volume)) { [placement] failure in
            placement.synchronized(failure, on: volume, ifWanted: isWanted, completion)
        }
    }

    /// Gives the synced file its name, unless that would keep the placements of others waiting.
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
            return DispatchQueue.runBlocking { [placement] in completion(placement.finishAlone()) }
        }
        placement.rename()
        guard placement.failure == nil else {
            // The bytes may have to be written again.
            return DispatchQueue.runBlocking { [placement] in completion(placement.finish()) }
        }
        store.syncs.add(.directory(partial.names.directory), in: .volume(volume)) { [placement] failure in
            placement.synchronizedDirectory(failure, completion)
        }
    }

    /// Reports the outcomes after the sync of the directory.
    private func synchronizedDirectory(_ failure: FileFailure?, _ completion: @escaping PlacementCompletion) {
        var placement = self
        if failure?.kind == .tooManyOpenFiles {
            // It can be opened as soon as other files are closed.
            return DispatchQueue.runBlocking { [placement] in completion(placement.finishSynchronizing()) }
        }
        placement.placement.synchronizeDirectories { _ throws(FileFailure) in if let failure { throw failure } }
        completion(placement.finish())
    }
}
