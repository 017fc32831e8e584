#if canImport(Darwin)
internal import Darwin

/// The lock of the operating system, at an address that does not change, as the system requires.
struct SystemLock: ~Copyable {
    private let address: UnsafeMutablePointer<os_unfair_lock>

    init() {
        address = .allocate(capacity: 1)
        address.initialize(to: os_unfair_lock())
    }

    borrowing func lock() { os_unfair_lock_lock(address) }

    borrowing func unlock() { os_unfair_lock_unlock(address) }

    deinit {
        address.deinitialize(count: 1)
        address.deallocate()
    }
}
#endif
