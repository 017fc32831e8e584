/// A clock that measures how long one thread of an engine spends in callbacks of exchange handlers.
final class CallbackClock: Sendable {
    private struct State {
        /// The total duration of the callbacks that have returned.
        var total = Duration.zero
        /// The start of the callback in progress, if any.
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
        let start = ContinuousClock.now
        state.withLock { $0.since = start }
        defer {
            let end = ContinuousClock.now
            state.withLock { state in
                state.total += end - start
                state.since = nil
            }
        }
        return callback()
    }
}
