internal import Dispatch

#if canImport(FoundationEssentials)
internal import struct FoundationEssentials.Date
#else
internal import struct Foundation.Date
#endif

/// The port to a clock with timers, so that no test has to wait.
package protocol TimeSource: Sendable {
    /// The time since a fixed origin; it never goes backward.
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

extension Duration {
    /// The duration, at least zero and at most 34 years, so that no sum of a few such durations overflows.
    var clampedForTimers: Duration { min(max(self, .zero), .seconds(1 << 30)) }
}
