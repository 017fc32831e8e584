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

/// The system's clock, with timers from Dispatch.
package struct SystemTimeSource: TimeSource {
    private static let origin = ContinuousClock.now
    private static let queue = DispatchQueue(label: "async-downloads.time", qos: .utility)

    package init() {
        _ = Self.origin
    }

    package var now: Duration { ContinuousClock.now - Self.origin }

    package var date: HTTPDate {
        HTTPDate(secondsSinceEpoch: Int64(Date().timeIntervalSince1970.rounded(.down)))
    }

    package func schedule(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> any ScheduledAction {
        // Floating point, because a 32-bit `Int`, as on some watches, overflows after two seconds in nanoseconds.
        let seconds = min(max(delay, .zero), .seconds(1 << 30)) / .seconds(1)
        return DispatchTimer(after: seconds, on: Self.queue, action)
    }
}

/// A timer that releases its action, with everything the action holds, as soon as it is canceled.
///
/// It is a dispatch source, because a block that is passed to `asyncAfter` stays in its queue until its time, even if
/// it was canceled. A server that downloads with deadlines of an hour would then keep a block for every download of
/// that hour.
private final class DispatchTimer: ScheduledAction, @unchecked Sendable {  // Dispatch sources are thread-safe.
    private let source: any DispatchSourceTimer
    private let action: Mutex<(@Sendable () -> Void)?>

    init(after seconds: Double, on queue: DispatchQueue, _ action: @escaping @Sendable () -> Void) {
        source = DispatchSource.makeTimerSource(queue: queue)
        self.action = Mutex(action)
        source.schedule(deadline: .now() + seconds)
        // Until it fires or is canceled, the source holds its handler, and the handler holds the timer.
        source.setEventHandler { self.fire() }
        source.activate()
    }

    func cancel() {
        _ = take()
        source.cancel()
    }

    private func fire() {
        source.cancel()
        take()?()
    }

    private func take() -> (@Sendable () -> Void)? {
        action.withLock { action in
            defer { action = nil }
            return action
        }
    }
}
