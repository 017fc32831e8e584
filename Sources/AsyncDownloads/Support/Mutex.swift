/// A value that is accessible only while a lock is held, with the interface of the standard library's `Mutex`.
///
/// The standard library's own type needs iOS 18 and macOS 15. On Linux it locks by system calls that the thread
/// sanitizer does not see (Swift 6.3), so that the sanitizer reports a race wherever a value is protected and hides the
/// real ones.
package struct Mutex<Value>: ~Copyable, @unchecked Sendable {  // The value is touched only while the lock is held.
    private let storage: Storage

    /// Protects `value`.
    package init(_ value: consuming sending Value) {
        storage = Storage.make(value)
    }

    /// Calls `body` with the value while the lock is held; `body` must not lock the same mutex.
    package borrowing func withLock<Result, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        let storage = storage
        defer { withExtendedLifetime(storage) {} }
        let (value, lock) = storage.withUnsafeMutablePointers { (value: $0, lock: $1) }
        lock.lock()
        defer { lock.unlock() }
        return try body(&value.pointee)
    }

    /// The value and the lock in one allocation, at addresses that do not change, as the system requires of a lock.
    private final class Storage: ManagedBuffer<Value, SystemLock> {
        static func make(_ value: consuming sending Value) -> Storage {
            let value = value
            let new = create(minimumCapacity: 1) { _ in value }
            new.withUnsafeMutablePointerToElements { $0.initializeLock() }
            return unsafeDowncast(new, to: Storage.self)
        }

        deinit {
            withUnsafeMutablePointerToElements { $0.destroyLock() }
        }
    }
}
