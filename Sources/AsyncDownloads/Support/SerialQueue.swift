/// A queue of operations that may wait, which are performed in order, one at a time.
///
/// The operations run on ``BlockingThreads``. Each queue of Dispatch would occupy one of Dispatch's threads, of which a
/// process has at most 255.
final class SerialQueue: Sendable {
    private struct State {
        var waiting = Fifo<BlockingThreads.Operation>()
        /// The number of calls of ``suspend()`` without a call of ``resume()``.
        var suspensionCount = 0
        /// Whether a thread performs the operations, or is about to.
        var isRunning = false

        var canBegin: Bool { suspensionCount == 0 && !waiting.isEmpty }
    }

    private let state = Mutex(State())

    /// Adds an operation, which begins when the previous ones have ended.
    func async(_ operation: @escaping BlockingThreads.Operation) {
        start { $0.waiting.append(operation) }
    }

    /// Lets no further operation begin until ``resume()`` has been called for each call.
    ///
    /// The running operation isn't interrupted.
    func suspend() { state.withLock { $0.suspensionCount += 1 } }

    /// Ends the effect of one call of ``suspend()``.
    func resume() {
        start { state in
            precondition(state.suspensionCount > 0, "A queue was resumed that wasn't suspended.")
            state.suspensionCount -= 1
        }
    }

    /// Changes the state, and lets a thread perform the operations if one can begin and no thread performs them.
    private func start(_ change: (inout State) -> Void) {
        let isStarting = state.withLock { state in
            change(&state)
            guard !state.isRunning, state.canBegin else { return false }
            state.isRunning = true
            return true
        }
        if isStarting { BlockingThreads.run { [self] in run() } }
    }

    private func run() {
        while let operation = next() { withAutoreleasePool(operation) }
    }

    private func next() -> BlockingThreads.Operation? {
        state.withLock { state in
            state.isRunning = state.canBegin
            return state.isRunning ? state.waiting.popFirst() : nil
        }
    }
}
