/// Measures how long one thread of an engine spends in the callbacks of handlers.
final class CallbackClock: Sendable {
    private struct State {
        var total = Duration.zero
        /// When the callback in progress began.
        var since: ContinuousClock.Instant?
    }

    private let state = Mutex(State())

    /// The time spent so far, that of a callback in progress included.
    var time: Duration {
        let now = ContinuousClock.now
        return state.withLock { state in state.total + (state.since.map { now - $0 } ?? .zero) }
    }

    /// Runs a callback.
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
