#if canImport(Darwin)
internal import Darwin

/// The lock of the operating system, which is used only at the address at which it was initialized.
typealias SystemLock = os_unfair_lock

extension UnsafeMutablePointer<SystemLock> {
    func initializeLock() { initialize(to: os_unfair_lock()) }

    func lock() { os_unfair_lock_lock(self) }

    func unlock() { os_unfair_lock_unlock(self) }

    func destroyLock() { deinitialize(count: 1) }
}
#endif
