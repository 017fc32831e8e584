internal import Foundation

/// The lock of a lane, which one process at a time has.
///
/// It excludes a process that was started again while the earlier one still runs. The system releases it when the process
/// ends, however that happens.
struct LaneLock: Sendable {
    /// The result of an attempt to lock a lane.
    enum Attempt {
        case locked(LaneLock)
        /// Another process has the lock.
        case busy
    }

    private let descriptor: Int32

    /// Tries to lock the lane that begins with a manifest.
    ///
    /// A file system without locks permits everything. Its engine has to ensure that a task runs once only.
    static func attempt(_ manifest: URL) throws(Misuse) -> Attempt {
        // Network file systems lock only files that are open for writing.
        var descriptor = open(manifest.path, O_RDWR | O_CLOEXEC)
        if descriptor < 0 { descriptor = open(manifest.path, O_RDONLY | O_CLOEXEC) }
        guard descriptor >= 0 else {
            throw Misuse("\(manifest.path) cannot be read: \(String(cString: strerror(errno)))")
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) != 0, errno == EWOULDBLOCK else {
            return .locked(LaneLock(descriptor: descriptor))
        }
        close(descriptor)
        return .busy
    }

    /// Releases the lock.
    func release() {
        close(descriptor)
    }
}
