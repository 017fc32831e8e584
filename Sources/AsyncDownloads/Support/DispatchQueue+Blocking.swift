internal import Dispatch

extension DispatchQueue {
    /// Runs `body` on a separate thread, because it may wait for a long time, for example for a disk.
    ///
    /// The concurrent queues of the package have one thread for each core, of which it would take one from others.
    static func runBlocking(_ body: @escaping @Sendable () -> Void) {
        // A queue without a target has a thread as long as it has work.
        DispatchQueue(label: "async-downloads.blocking", qos: .userInitiated).async(execute: body)
    }
}
