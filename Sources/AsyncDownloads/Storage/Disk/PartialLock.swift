/// The lock file that makes one process the owner of a partial file.
///
/// The lock file is created before all other files of a location and removed after them, so if it is new, no other
/// files exist. Where a file system does not support locks, or only pretends to, the names of the partial files
/// determine the owner (``PartialFile``). The same applies if the lock file belongs to another user, who could hold the
/// lock indefinitely. Otherwise, the lock is exclusive, and the name of the partial file follows from its token, so
/// that the directory doesn't have to be listed.
final class PartialLock: Sendable {
    /// Whether ``acquire(_:on:)`` created the lock file.
    let isNew: Bool
    /// Information about the file at the lock file's path when the lock was acquired.
    let information: FileInformation

    /// The device number of the volume that contains the lock file.
    var volume: UInt64 { information.device }

    /// Whether the lock file is held; false if the partial is used without a lock.
    var isHeld: Bool { handle != nil }

    /// Whether the lock keeps every other process out: the file is held, on a local volume that supports locks.
    ///
    /// A network file system may only pretend to lock a file.
    let isExclusive: Bool

    /// The lock file; nil if the partial is used without a lock, or after the lock was released.
    var handle: OpenFile? { file.withLock { $0 } }

    /// The path of the lock file.
    let path: String
    /// The lock file, or nil after the lock was released.
    private let file: Mutex<OpenFile?>
    private let disk: any FileSystem

    private init(
        isNew: Bool = false, isExclusive: Bool = false, _ information: FileInformation, path: String,
        file: OpenFile? = nil, disk: any FileSystem
    ) {
        self.isNew = isNew
        self.isExclusive = isExclusive
        self.information = information
        self.path = path
        self.file = Mutex(file)
        self.disk = disk
    }

    /// Acquires the lock for the partial that `names` belong to.
    ///
    /// - Throws: ``FileFailure/Kind/inUse`` while another owner holds the lock, in this process or in another.
    static func acquire(_ names: PartialNames, on disk: any FileSystem) throws(FileFailure) -> PartialLock {
        // An attempt fails if another owner has just removed the file; even two failures are rare.
        for _ in 0..<32 {
            if let lock = try attempt(names, on: disk) { return lock }
        }
        throw FileFailure(
            .inUse, errno: 0, operation: "lock", name: PartialNames.lastComponent(of: names.lock),
            reason: "other owners keep removing it")
    }

    /// Releases the lock, and removes its file if no other files are kept; later calls do nothing.
    ///
    /// Later calls must do nothing, because the name and the descriptor may already belong to the next owner. If the
    /// lock file was removed and another owner has created a new one, the new file is kept.
    func release(removing: Bool) {
        let file = file.withLock { file in
            defer { file = nil }
            return file
        }
        guard let file else { return }
        // The file is removed before it is unlocked: a process that has opened it detects that the name no longer
        // exists.
        if removing, (try? disk.information(at: path))?.isSameFile(as: information) == true { try? disk.remove(path) }
        disk.unlock(file)
        disk.close(file)
    }

    private static func attempt(_ names: PartialNames, on disk: any FileSystem) throws(FileFailure) -> PartialLock? {
        let path = names.lock
        let owner = FileOwner(disk: disk, names: names)
        let file: OpenFile
        let isNew: Bool
        do {
            guard let opened = try open(path, on: disk) else { return nil }
            (file, isNew) = opened
        } catch let error where error.kind == .denied || error.kind == .unusablePath {
            return try withoutLock(path, owner, on: disk, unless: error)
        }
        do throws(FileFailure) {
            let information = try disk.information(of: file)
            var isUsable = information.kind == .regular
            if isUsable, !isNew { isUsable = try owner.isOwn(information) }
            guard isUsable else {
                disk.close(file)
                return PartialLock(information, path: path, disk: disk)
            }
            let isLocked = try lock(file, on: disk)
            if try disk.information(at: path)?.isSameFile(as: information) == true {
                if !isNew, information.size > 0 { empty(file, information, on: disk) }
                let isExclusive = isLocked && disk.volumeKind(of: file) != .other
                return PartialLock(
                    isNew: isNew, isExclusive: isExclusive, information, path: path, file: file, disk: disk)
            }
            disk.close(file)
            return nil
        } catch {
            disk.close(file)
            throw error
        }
    }

    /// Removes the bytes that an earlier process was about to place when it ended
    /// (``PartialFile/Medium/lockedMemory``).
    ///
    /// A file with a second name is left unchanged, because it may already be a destination.
    private static func empty(_ file: OpenFile, _ information: FileInformation, on disk: any FileSystem) {
        guard information.linkCount == 1 else { return }
        try? disk.truncate(file, to: 0)
        try? disk.setPermissions(.ownerOnly, of: file)
    }

    /// Proceeds without a lock if the lock file cannot be opened because it isn't a regular file of this user.
    private static func withoutLock(
        _ path: String, _ owner: FileOwner, on disk: any FileSystem, unless error: FileFailure
    ) throws(FileFailure) -> PartialLock {
        guard let information = try disk.information(at: path) else { throw error }
        if information.kind == .regular, try owner.isOwn(information) { throw error }
        return PartialLock(information, path: path, disk: disk)
    }

    /// Locks the file, and returns whether its file system supports locks; throws if another owner holds the lock.
    private static func lock(_ file: OpenFile, on disk: any FileSystem) throws(FileFailure) -> Bool {
        do {
            if try disk.lock(file) { return true }
        } catch let error where error.kind == .unsupported {
            return false
        }
        throw FileFailure(.inUse, errno: 0, operation: "lock", name: file.name, reason: "another owner has it")
    }

    /// Creates or opens the file; returns nil if another process removes it between the two steps.
    private static func open(
        _ path: String, on disk: any FileSystem
    ) throws(FileFailure) -> (file: OpenFile, isNew: Bool)? {
        do {
            return (try disk.open(path, .new), true)
        } catch let error where error.kind == .exists {}
        do {
            return (try disk.open(path, .existing), false)
        } catch let error where error.kind == .missing {
            return nil
        }
    }
}
