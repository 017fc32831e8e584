/// The actions of a transfer that wait to be performed, in the order in which they were decided.
///
/// One thread at a time performs actions, so that they keep this order: the first thread that finds the queue idle
/// drains it, and others only add to it.
struct ActionQueue: Sendable {
    private var pending: [TransferAction] = []
    /// Whether a thread performs actions.
    private var isDraining = false

    /// Whether no action waits and no thread performs one.
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

    /// Returns the actions that the calling thread has to perform, or none if another thread performs actions.
    ///
    /// A thread that gets actions calls ``next()`` after it has performed them.
    mutating func beginDraining() -> [TransferAction] {
        isDraining ? [] : next()
    }

    /// Returns the actions that were added in the meantime to the thread that performs them.
    ///
    /// If there are none, the thread has drained the queue, which is idle again.
    mutating func next() -> [TransferAction] {
        isDraining = !pending.isEmpty
        defer { pending = [] }
        return pending
    }
}
