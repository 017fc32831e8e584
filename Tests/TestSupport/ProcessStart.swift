internal import Foundation

/// The start of processes, one at a time.
///
/// On Linux, Foundation closes in a new process the descriptors that were open when it began to start it. One that another
/// thread opens at that moment, such as the end of a pipe of another process, or the socket by which Foundation notices the end
/// of a process, is inherited. The end of the other process would then not be noticed before the end of this one.
package enum ProcessStart {
    private static let lock = NSLock()

    /// Calls `body`, which creates the pipes of a process and starts it, while no other call of this method runs.
    package static func alone<Value>(_ body: () throws -> Value) rethrows -> Value {
        try lock.withLock(body)
    }
}
