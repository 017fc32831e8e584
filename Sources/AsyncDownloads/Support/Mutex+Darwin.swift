#if canImport(Darwin)
private import Synchronization

/// The standard library's lock, in a type of this module's.
///
/// An alias would not do: the members of a type are visible only where the module that declares them is imported
/// (MemberImportVisibility), and the files that lock something import nothing for it.
package struct Mutex<Value: ~Copyable>: ~Copyable, Sendable {
    private let lock: Synchronization.Mutex<Value>

    /// Protects `value`.
    package init(_ value: consuming sending Value) {
        lock = Synchronization.Mutex(value)
    }

    /// Runs `body` alone on the value.
    package borrowing func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        try lock.withLock(body)
    }
}
#endif
