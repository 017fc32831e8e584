/// The pending actions of a transfer, in the order in which they were decided.
///
/// One thread at a time performs actions, so that they keep this order: the first thread that finds the queue idle
/// drains it, and other threads only add actions.
struct ActionQueue: Sendable {
    private var pending: [TransferAction] = []
    /// Whether a thread is performing actions.
    private var isDraining = false

    /// Whether no action is pending and no thread is performing one.
    var isIdle: Bool { pending.isEmpty && !isDraining }

    /// Adds actions; `actions` is empty afterward.
    mutating func add(_ actions: inout [TransferAction]) {
        if pending.isEmpty {
            swap(&pending, &actions)
        } else {
            pending += actions
            actions = []
        }
    }

    /// Returns the actions that the calling thread has to perform; empty if another thread is performing actions.
    ///
    /// A thread that receives actions calls ``next()`` after it has performed them.
    mutating func beginDraining() -> [TransferAction] {
        isDraining ? [] : next()
    }

    /// Returns the actions that were added while the calling thread was performing others.
    ///
    /// If the result is empty, the thread has drained the queue, which is idle again.
    mutating func next() -> [TransferAction] {
        isDraining = !pending.isEmpty
        defer { pending = [] }
        return pending
    }
}
