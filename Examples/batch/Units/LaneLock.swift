internal import Foundation

/// The lock of a lane, which one process at a time can hold.
///
/// It keeps out a process that was started again while the earlier one still runs. The system releases the lock when
/// the process exits, even after a crash.
struct LaneLock: Sendable {
    /// The errors of file systems that have no locks.
    ///
    /// On these file systems, the engine has to ensure that only one process at a time runs a task.
    private static let unsupported = [ENOSYS, EOPNOTSUPP, ENOLCK]

    private let descriptor: Int32
    private let path: String

    /// Tries to lock a lane with the file at `path`, which exists only while a process has the lock, or was killed.
    ///
    /// - Returns: The lock; nil if another process has it.
    static func attempt(_ path: String) throws(Misuse) -> LaneLock? {
        while true {
            let file = try OutputFile(path, O_RDWR | O_CREAT | O_NOFOLLOW)
            if flock(file.descriptor, LOCK_EX | LOCK_NB) != 0, !unsupported.contains(errno) {
                defer { file.close() }
                guard errno == EWOULDBLOCK else { throw file.failure }
                return nil
            }
            var (own, present) = (stat(), stat())
            fstat(file.descriptor, &own)
            // The process that had the lock may have removed the file in the meantime.
            if stat(path, &present) == 0, own.st_ino == present.st_ino {
                return LaneLock(descriptor: file.descriptor, path: path)
            }
            file.close()
        }
    }

    /// Releases the lock, and removes its file.
    func release() {
        unlink(path)
        close(descriptor)
    }
}
