import AsyncDownloads

/// A time source that advances only when a test advances it.
final class ManualTimeSource: TimeSource {
    private struct Timer: Sendable {
        let due: Duration
        let delay: Duration
        let action: @Sendable () -> Void
    }

    private struct State {
        var now = Duration.zero
        /// The date at the time zero, in seconds since 1970.
        var origin: Int64 = 1_800_000_000
        var timers: [Int: Timer] = [:]
        var lastNumber = 0
        var waiters: [(delays: ClosedRange<Duration>, continuation: CheckedContinuation<Void, Never>)] = []
        var whenCancelled: (@Sendable (Duration) -> Void)?
    }

    private let state = Mutex(State())

    var now: Duration { state.withLock { $0.now } }

    var date: HTTPDate {
        HTTPDate(secondsSinceEpoch: state.withLock { $0.origin + $0.now.components.seconds })
    }

    /// Sets the date ahead, as if someone had changed the system's clock.
    func moveDate(by seconds: Int64) { state.withLock { $0.origin += seconds } }

    func schedule(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> any ScheduledAction {
        if delay <= .zero { action() }
        let (number, woken) = state.withLock { state in
            state.lastNumber += 1
            if delay > .zero {
                state.timers[state.lastNumber] = Timer(due: state.now + delay, delay: delay, action: action)
            }
            let woken = state.waiters.filter { $0.delays.contains(delay) }
            state.waiters.removeAll { $0.delays.contains(delay) }
            return (state.lastNumber, woken)
        }
        for waiter in woken { waiter.continuation.resume() }
        return Cancellation(source: self, number: number, delay: delay)
    }

    /// Waits until a timer of at least `delay` is pending.
    func timer(ofAtLeast delay: Duration) async {
        await timer(in: delay...(.seconds(Int64.max)))
    }

    /// Waits until a timer of exactly `delay` is pending.
    func timer(of delay: Duration) async {
        await timer(in: delay...delay)
    }

    private func timer(in delays: ClosedRange<Duration>) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.timers.values.contains(where: { delays.contains($0.delay) }) { return true }
                state.waiters.append((delays, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    /// The number of pending timers.
    var pendingCount: Int { state.withLock { $0.timers.count } }

    /// The delays of the pending timers.
    var delays: [Duration] { state.withLock { $0.timers.values.map(\.delay) } }

    /// Calls `body` with the delay of each timer that is canceled, pending or not, on the canceling thread.
    func whenCancelled(_ body: @escaping @Sendable (Duration) -> Void) {
        state.withLock { $0.whenCancelled = body }
    }

    /// Advances the time, and performs the due actions.
    func advance(by delay: Duration) {
        let due = state.withLock { state in
            state.now += delay
            let now = state.now
            let due = state.timers.filter { $0.value.due <= now }.sorted {
                ($0.value.due, $0.key) < ($1.value.due, $1.key)
            }
            for timer in due { state.timers[timer.key] = nil }
            return due.map(\.value.action)
        }
        for action in due { action() }
    }

    private struct Cancellation: ScheduledAction {
        let source: ManualTimeSource
        let number: Int
        let delay: Duration

        func cancel() {
            let hook = source.state.withLock { state in
                state.timers[number] = nil
                return state.whenCancelled
            }
            hook?(delay)
        }
    }
}
