#if !canImport(Darwin)
#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// What the standard library's `Mutex` is on Apple's systems, over a POSIX mutex.
///
/// On Linux the standard library locks by system calls that the thread sanitizer does not see (Swift 6.3), so that it
/// reports a race wherever a value is protected, and would hide the real ones among them.
package struct Mutex<Value: ~Copyable>: ~Copyable, Sendable {
    private let storage: Storage

    /// Protects `value`.
    package init(_ value: consuming sending Value) {
        storage = Storage(value)
    }

    /// Runs `body` alone on the value.
    package borrowing func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        pthread_mutex_lock(storage.mutex)
        defer { pthread_mutex_unlock(storage.mutex) }
        return try body(&storage.value)
    }

    private final class Storage: @unchecked Sendable {  // `value` is touched only while `mutex` is held.
        let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
        var value: Value

        init(_ value: consuming sending Value) {
            self.value = value
            pthread_mutex_init(mutex, nil)
        }

        deinit {
            pthread_mutex_destroy(mutex)
            mutex.deallocate()
        }
    }
}
#endif
