#if !canImport(Darwin)
#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// A POSIX mutex with the interface of the standard library's `Mutex`, which is used on Apple platforms.
///
/// On Linux, the standard library locks with system calls that the thread sanitizer doesn't recognize (Swift 6.3). The
/// sanitizer would report a race for every protected value, which would hide the real races.
package struct Mutex<Value: ~Copyable>: ~Copyable, Sendable {
    private let storage: Storage

    /// Creates a mutex that protects `value`.
    package init(_ value: consuming sending Value) {
        storage = Storage(value)
    }

    /// Runs `body` with exclusive access to the value.
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
