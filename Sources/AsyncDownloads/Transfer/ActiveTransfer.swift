internal import Dispatch

extension Transfer {
    /// The resources and the state of a transfer that has left the queue.
    final class ActiveTransfer {
        let work: Work
        var state: State

        init(work: Work, state: State) {
            self.work = work
            self.state = state
        }
    }

    /// The immutable values that effects use without the transfer's lock.
    final class Work: Sendable {
        let key: TransferKey
        /// The limit of this transfer alone.
        let bandwidth: BandwidthLimiter
        /// The queue of the store's operations.
        ///
        /// It has no target, so that it has a thread as long as it has work. Queues that share few threads would all
        /// wait for a volume that hangs. Its quality-of-service class has other threads than those of URLSession, which
        /// therefore cannot delay a checkpoint.
        let queue: DispatchQueue

        init(key: TransferKey, bandwidth: BandwidthLimiter) {
            self.key = key
            self.bandwidth = bandwidth
            queue = DispatchQueue(label: "async-downloads.store", qos: .userInitiated)
        }
    }
}
