internal import Dispatch

#if canImport(FoundationEssentials)
internal import struct FoundationEssentials.Date
#else
internal import struct Foundation.Date
#endif

/// The system's clock, with timers that share one timer of Dispatch.
package struct SystemTimeSource: TimeSource {
    private static let origin = ContinuousClock.now
    private static let timers = TimerQueue()

    package init() {
        _ = Self.origin
    }

    package var now: Duration { ContinuousClock.now - Self.origin }

    package var date: HTTPDate {
        HTTPDate(Date())
    }

    package func schedule(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> any ScheduledAction {
        Self.timers.schedule(at: now + delay.clampedForTimers, action)
    }
}

/// Timers that share one dispatch source, because a source for each download would slow down small files noticeably.
///
/// A canceled timer releases its action, with everything the action holds, at once. A block that is passed to
/// `asyncAfter` would stay in its queue until its time, even if it was canceled: a server that downloads with deadlines
/// of an hour would keep a block for every download of that hour.
final class TimerQueue: @unchecked Sendable {  // Dispatch sources are thread-safe.
    private struct State {
        var deadlines = Heap<Int, Duration>()
        var actions: [Int: @Sendable () -> Void] = [:]
        var lastNumber = 0
        /// The time for which the source is set; nil if it isn't set.
        ///
        /// Unlike the deadlines, it is a time of the source's clock, which stands still while the machine sleeps.
        var wakeUp: DispatchTime?
    }

    private static let tolerance = 0.001

    private let queue = DispatchQueue(label: "async-downloads.time", qos: .utility)
    private let source: any DispatchSourceTimer
    private let state = Mutex(State())

    init() {
        source = DispatchSource.makeTimerSource(queue: queue)
        source.setEventHandler { [unowned self] in fire() }
        source.activate()
    }

    deinit {
        source.cancel()
    }

    /// Calls `action` once at `deadline`, on the queue, unless the timer is canceled before that.
    func schedule(at deadline: Duration, _ action: @escaping @Sendable () -> Void) -> any ScheduledAction {
        let number = state.withLock { state in
            state.lastNumber += 1
            state.actions[state.lastNumber] = action
            state.deadlines[state.lastNumber] = deadline
            setSource(&state)
            return state.lastNumber
        }
        return Timer(queue: self, number: number)
    }

    private func cancel(_ number: Int) {
        // The source stays set: at its time it finds nothing to do.
        _ = state.withLock { state in
            state.deadlines[number] = nil
            return state.actions.removeValue(forKey: number)
        }
    }

    private func fire() {
        state.withLock { $0.wakeUp = nil }
        // One at a time, because an action may cancel the next one.
        while let action = takeDue() { action() }
        state.withLock { setSource(&$0) }
    }

    private func takeDue() -> (@Sendable () -> Void)? {
        let now = SystemTimeSource().now
        return state.withLock { state in
            guard let first = state.deadlines.first, first.order <= now else { return nil }
            state.deadlines[first.key] = nil
            return state.actions.removeValue(forKey: first.key)
        }
    }

    /// Sets the source to the first deadline, unless it is set for that time or an earlier one.
    private func setSource(_ state: inout State) {
        guard let first = state.deadlines.first?.order else { return }
        // Floating point, because a 32-bit `Int`, as on some watches, overflows after two seconds in nanoseconds.
        let time = DispatchTime.now() + max(.zero, first - SystemTimeSource().now) / .seconds(1)
        // The two clocks differ by less than the tolerance, except after a sleep.
        if let wakeUp = state.wakeUp, wakeUp <= time + Self.tolerance { return }
        state.wakeUp = time
        source.schedule(deadline: time)
    }

    private struct Timer: ScheduledAction {
        let queue: TimerQueue
        let number: Int

        func cancel() { queue.cancel(number) }
    }
}

extension HTTPDate {
    /// Creates an instant in whole seconds; an infinite date, or one outside the range, is clamped.
    ///
    /// A date that is not a number counts as the end of the range.
    init(_ date: Date, rounding: FloatingPointRoundingRule = .down) {
        let seconds = date.timeIntervalSince1970.rounded(rounding)
        // The bound is beyond the range of HTTPDate, and within the range of Int64.
        let bound = 1e12
        self.init(secondsSinceEpoch: Int64(seconds.isNaN ? bound : min(max(seconds, -bound), bound)))
    }

    /// Returns the time from this instant to `date`, which is negative if `date` is earlier.
    func duration(to date: Date) -> Duration { .seconds(HTTPDate(date).seconds(since: self)) }
}
