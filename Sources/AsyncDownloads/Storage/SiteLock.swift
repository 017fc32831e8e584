/// The lock file that makes one process the owner of a site.
///
/// It is the first file that is made and the last that is removed. So where it is new, nothing else is there.
/// Where a file system has no locks, or only pretends to, the names of the partial files take over (``DiskPartial``).
final class SiteLock: Sendable {
    /// Whether it was made by ``acquire(_:on:)``.
    let isNew: Bool
    /// The number of the volume that it is on.
    let volume: UInt64

    private let path: String
    /// The lock file; nil once the lock was released.
    private let file: Mutex<OpenFile?>
    private let disk: any FileSystem

    private init(isNew: Bool, volume: UInt64, path: String, file: OpenFile, disk: any FileSystem) {
        self.isNew = isNew
        self.volume = volume
        self.path = path
        self.file = Mutex(file)
        self.disk = disk
    }

    /// Takes the lock at `path`.
    ///
    /// - Throws: ``DownloadError/Code/partialInUse`` while another owner has it, in this process or in another.
    static func acquire(_ path: String, on disk: any FileSystem) throws(DownloadError) -> SiteLock {
        // Each turn that fails means that another owner removed the file just now; a second one is rare already.
        for _ in 0..<32 {
            do {
                if let lock = try attempt(path, on: disk) { return lock }
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

    private static func attempt(_ path: String, on disk: any FileSystem) throws(FileFailure) -> SiteLock? {
        guard let (file, isNew) = try open(path, on: disk) else { return nil }
        do throws(FileFailure) {
            let information = try disk.information(of: file)
            guard information.kind == .regular else {
                throw FileFailure(.unusablePath, errno: 0, operation: "lock", name: file.name, reason: "not a file")
            }
            guard try isLocked(file, on: disk) else {
                throw FileFailure(.inUse, errno: 0, operation: "lock", name: file.name, reason: "in use")
            }
            if try disk.information(at: path)?.isSameFile(as: information) == true {
                return SiteLock(isNew: isNew, volume: information.device, path: path, file: file, disk: disk)
            }
            disk.close(file)
            return nil
        } catch {
            disk.close(file)
            throw error
        }
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
