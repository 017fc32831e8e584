internal import Dispatch

extension DispatchQueue {
    /// Runs `body` on a separate thread, because it may wait for a long time, for example for a disk.
    ///
    /// The concurrent queues of the package have one thread for each core, so blocking work there would delay other
    /// work.
    static func runBlocking(_ body: @escaping @Sendable () -> Void) {
        // A queue without a target has its own thread while it has work.
        DispatchQueue(label: "async-downloads.blocking", qos: .userInitiated).async(execute: body)
    }
}
