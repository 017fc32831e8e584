internal import struct Foundation.Data

/// The placement of the bytes of a ``PartialFile``, in steps.
///
/// The bytes are written to the lock file, which becomes the file of a target. The steps are called in the order of
/// their declaration. Syncs are separate steps, because one can serve several placements (``PlacementGroups``).
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
        } catch {
            fail(error)
        }
    }

    /// The file to sync before it gets its names, or nil.
    ///
    /// Rule 45: a failed write is not reported after the rename. A local disk, which this is, has no errors that it
    /// reports only when the file is closed.
    var unsynchronizedFile: OpenFile? { failure == nil && store.synchronizes(file) ? file.handle : nil }

    /// Records that ``unsynchronizedFile`` was synced, or why it could not be.
    mutating func synchronized(_ failure: FileFailure?) {
        if let failure { fail(failure) }
    }

    /// Places the file at the targets.
    mutating func rename() {
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

    /// Syncs the directories of the targets, each with a call of `synchronize`.
    mutating func synchronizeDirectories(with synchronize: Placement.DirectorySync) {
        if failure == nil { placement.synchronizeDirectories(with: synchronize) }
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
    var isLockFileLost: Bool { failure?.kind == .inUse && partial.isLockFileMissing }

    /// The directory of the target, if it received the file and has to be synced.
    var unsynchronizedDirectory: String? {
        failure == nil && store.synchronizes(file) ? partial.names.directory : nil
    }

    /// Restores the lock file after ``write()`` instead of placing the file.
    func withdraw() { partial.emptyLockFile(file) }

    /// Returns the outcome for each target, after the last step.
    func finish() -> [PlacementOutcome] {
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
