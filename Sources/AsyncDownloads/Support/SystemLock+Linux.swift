#if !canImport(Darwin)
#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// The lock of the operating system, which is used only at the address at which it was initialized.
typealias SystemLock = pthread_mutex_t

extension UnsafeMutablePointer<SystemLock> {
    func initializeLock() { pthread_mutex_init(self, nil) }

    func lock() { pthread_mutex_lock(self) }

    func unlock() { pthread_mutex_unlock(self) }

    func destroyLock() { pthread_mutex_destroy(self) }
}
#endif
