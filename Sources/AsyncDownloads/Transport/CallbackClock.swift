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
        let start = ContinuousClock.now
        state.withLock { state in
            if state.count == 0 { state.since = start }
            state.count += 1
        }
        defer {
            let end = ContinuousClock.now
            state.withLock { state in
                state.count -= 1
                guard state.count == 0, let since = state.since else { return }
                state.total += end - since
                state.since = nil
            }
        }
        return callback()
    }
}
