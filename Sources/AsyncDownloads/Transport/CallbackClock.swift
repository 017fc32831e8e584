/// A clock that measures the time that an engine's threads spend in callbacks of exchange handlers.
///
/// Time in which several callbacks run at once is counted once.
final class CallbackClock: Sendable {
    private struct State {
        /// The total time in callbacks, up to the last time at which none was in progress.
        var total = Duration.zero
        /// The number of callbacks in progress.
        var count = 0
        /// The time at which the number of callbacks in progress last left zero; nil if none is in progress.
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

    /// Begins to count a callback, or another interval in which nothing can be received.
    func begin() {
        let now = ContinuousClock.now
        state.withLock { state in
            if state.count == 0 { state.since = now }
            state.count += 1
        }
    }

    /// Ends the counting that a call of ``begin()`` began.
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
