#if !canImport(Darwin)
#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// The lock of the operating system, at an address that does not change, as the system requires.
struct SystemLock: ~Copyable {
    private let address: UnsafeMutablePointer<pthread_mutex_t>

    init() {
        address = .allocate(capacity: 1)
        pthread_mutex_init(address, nil)
    }

    borrowing func lock() { pthread_mutex_lock(address) }

    borrowing func unlock() { pthread_mutex_unlock(address) }

    deinit {
        pthread_mutex_destroy(address)
        address.deallocate()
    }
}
#endif
