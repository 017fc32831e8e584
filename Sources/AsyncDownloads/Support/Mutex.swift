/// A value that is reached only while a lock is held, with the interface of the standard library's `Mutex`.
///
/// The standard library's own type needs iOS 18 and macOS 15. On Linux it locks by system calls that the thread
/// sanitizer does not see (Swift 6.3), so that the sanitizer reports a race wherever a value is protected and hides the
/// real ones.
///
/// An alias of another module's type would not do: the members of a type are visible only where the module that
/// declares them is imported (MemberImportVisibility), and the files that lock something import nothing for it.
package struct Mutex<Value>: ~Copyable, Sendable {
    private let storage: Storage

    /// Protects `value`.
    package init(_ value: consuming sending Value) {
        storage = Storage(value)
    }

    /// Calls `body` with the value while the lock is held; `body` must not lock the same mutex.
    package borrowing func withLock<Result, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        storage.lock.lock()
        defer { storage.lock.unlock() }
        return try body(&storage.value)
    }

    private final class Storage: @unchecked Sendable {  // `value` is touched only while `lock` is held.
        let lock = SystemLock()
        var value: Value

        init(_ value: consuming sending Value) {
            self.value = value
        }
    }
}
