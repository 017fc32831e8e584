#if canImport(Darwin)
private import Synchronization

/// The standard library's mutex, wrapped in a type of this module.
///
/// A type alias isn't sufficient: the members of a type are visible only in files that import the module that declares
/// them (MemberImportVisibility), and the files that use a mutex don't import `Synchronization`.
package struct Mutex<Value: ~Copyable>: ~Copyable, Sendable {
    private let lock: Synchronization.Mutex<Value>

    /// Creates a mutex that protects `value`.
    package init(_ value: consuming sending Value) {
        lock = Synchronization.Mutex(value)
    }

    /// Runs `body` with exclusive access to the value.
    package borrowing func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        try lock.withLock(body)
    }
}
#endif
