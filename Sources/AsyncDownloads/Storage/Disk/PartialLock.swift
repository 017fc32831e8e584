/// The lock file that makes one process the owner of a site.
///
/// It is the first file that is made and the last that is removed. So where it is new, nothing else is there.
/// Where a file system has no locks, or only pretends to, the names of the partial files take over (``DiskPartial``).
/// They do so, too, where the lock file belongs to somebody else, who could hold it for ever.
final class PartialLock: Sendable {
    /// Whether it was made by ``acquire(_:on:)``.
    let isNew: Bool
    /// The number of the volume that it is on.
    let volume: UInt64

    /// Whether a lock file is held, rather than done without.
    var isHeld: Bool { file.withLock { $0 != nil } }

    private let path: String
    /// The lock file; nil once the lock was released.
    private let file: Mutex<OpenFile?>
    private let disk: any FileSystem

    private init(isNew: Bool, volume: UInt64, path: String, file: OpenFile?, disk: any FileSystem) {
        self.isNew = isNew
        self.volume = volume
        self.path = path
        self.file = Mutex(file)
        self.disk = disk
    }

    /// Takes the lock of the site that `names` belong to.
    ///
    /// - Throws: ``DownloadError/Code/partialInUse`` while another owner has it, in this process or in another.
    static func acquire(_ names: PartialNames, on disk: any FileSystem) throws(DownloadError) -> PartialLock {
        // Each turn that fails means that another owner removed the file just now; a second one is rare already.
        for _ in 0..<32 {
            do {
                if let lock = try attempt(names, on: disk) { return lock }
            } catch {
                throw DownloadError(error)
            }
        }
        throw DownloadError(.partialInUse, "its lock is fought over")
    }

    /// Releases the lock, and removes its file where nothing else is kept; later calls do nothing.
    ///
    /// The name and the descriptor may belong to the next owner by then.
    func release(removing: Bool) {
        let file = file.withLock { file in
            defer { file = nil }
            return file
        }
        guard let file else { return }
        // Removed while it is held: whoever opened it meanwhile finds, once it has the lock, that the name is gone.
        if removing { try? disk.remove(path) }
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
            guard information.kind == .regular else {
                disk.close(file)
                return PartialLock(isNew: false, volume: information.device, path: path, file: nil, disk: disk)
            }
            if !isNew, try !owner.isOwn(information) {
                disk.close(file)
                return PartialLock(isNew: false, volume: information.device, path: path, file: nil, disk: disk)
            }
            guard try isLocked(file, on: disk) else {
                throw FileFailure(.inUse, errno: 0, operation: "lock", name: file.name, reason: "in use")
            }
            if try disk.information(at: path)?.isSameFile(as: information) == true {
                return PartialLock(isNew: isNew, volume: information.device, path: path, file: file, disk: disk)
            }
            disk.close(file)
            return nil
        } catch {
            disk.close(file)
            throw error
        }
    }

    /// Does without the lock where something is at its name that cannot even be opened: a stranger's file, or no file.
    private static func withoutLock(
        _ path: String, _ owner: FileOwner, on disk: any FileSystem, unless error: FileFailure
    ) throws(FileFailure) -> PartialLock {
        guard let information = try disk.information(at: path) else { throw error }
        if information.kind == .regular, try owner.isOwn(information) { throw error }
        return PartialLock(isNew: false, volume: information.device, path: path, file: nil, disk: disk)
    }

    private static func isLocked(_ file: OpenFile, on disk: any FileSystem) throws(FileFailure) -> Bool {
        do {
            return try disk.lock(file)
        } catch let error where error.kind == .unsupported {
            return true
        }
    }

    /// Opens the file, or nil where it comes and goes too quickly.
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
