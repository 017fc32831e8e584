internal import Dispatch

extension Transfer {
    /// What a transfer needs from its first permit on.
    final class ActiveTransfer {
        let work: Work
        var state: State

        init(work: Work, state: State) {
            self.work = work
            self.state = state
        }
    }

    /// What the effects of an active transfer use without its lock.
    final class Work: Sendable {
        let key: TransferKey
        let location: PartialLocation
        let queue: DispatchQueue

        init(key: TransferKey, location: PartialLocation) {
            self.key = key
            self.location = location
            queue = DispatchQueue(label: "async-downloads.store", target: Transfer.storeQueue)
        }
    }
}
