/// A clock that measures how long the threads of an engine spend in callbacks of exchange handlers.
///
/// Callbacks that several threads run at the same time are counted once.
final class CallbackClock: Sendable {
    private struct State {
        /// The total time in callbacks, up to the last time at which none was in progress.
        var total = Duration.zero
        /// The number of callbacks in progress.
        var count = 0
        /// The start of the first of the callbacks in progress, if any.
        var since: ContinuousClock.Instant?
    }

    private let state = Mutex(State())

    /// The time spent in callbacks so far, including a callback in progress.
    var time: Duration {
        let now = ContinuousClock.now
        return state.withLock { state in state.total + (state.since.map { now - $0 } ?? .zero) }
    }

    /// Runs a callback and measures its duration.
    func measure<Value>(_ callback: () -> Value) -> Value {
        begin()
        defer { end() }
        return callback()
    }

    /// Counts a callback, or another time in which nothing can be received, as in progress.
    func begin() {
        let now = ContinuousClock.now
        state.withLock { state in
            if state.count == 0 { state.since = now }
            state.count += 1
        }
    }

    /// Ends what ``begin()`` has begun.
    func end() {
        let now = ContinuousClock.now
        state.withLock { state in
            state.count -= 1
            guard state.count == 0, let since = state.since else { return }
            state.total += now - since
            state.since = nil
        }
    }
}
