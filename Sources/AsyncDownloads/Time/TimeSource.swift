/// A clock with timers; tests replace it with a clock that they advance.
package protocol TimeSource: Sendable {
    /// The time since a fixed origin, including the time in which the system sleeps; it never goes backward.
    var now: Duration { get }

    /// The current date, for comparison with dates in HTTP.
    var date: HTTPDate { get }

    /// Calls `action` once after `delay`, on a thread of the time source, unless it is canceled before that.
    @discardableResult
    func schedule(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> any ScheduledAction
}

/// An action that is scheduled for a later time.
package protocol ScheduledAction: Sendable {
    /// Prevents the action if it hasn't started.
    func cancel()
}

extension Duration {
    /// The duration, at least zero and at most 34 years, so that no sum of a few such durations overflows.
    var clampedForTimers: Duration { min(max(self, .zero), .seconds(1 << 30)) }
}
