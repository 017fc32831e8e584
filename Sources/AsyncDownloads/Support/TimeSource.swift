internal import Dispatch

#if canImport(FoundationEssentials)
internal import struct FoundationEssentials.Date
#else
internal import struct Foundation.Date
#endif

/// Tells the time and wakes up at a later one (port), so that no test has to wait.
package protocol TimeSource: Sendable {
    /// Time since an origin that does not change; it never goes backwards.
    var now: Duration { get }

    /// The date, for comparison with dates of HTTP.
    var date: HTTPDate { get }

    /// Calls `action` once after `delay`, on a thread of the source's, unless it is cancelled before.
    @discardableResult
    func schedule(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> any ScheduledAction
}

/// Something that is to happen later.
package protocol ScheduledAction: Sendable {
    /// Prevents the action if it has not begun.
    func cancel()
}

/// The system's clock, through Dispatch.
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
        let timer = DispatchTimer(action)
        // In floating point, since an Int of some watches has 32 bits, which hold two seconds of nanoseconds.
        let seconds = min(max(delay, .zero), .seconds(1 << 30)) / .seconds(1)
        Self.queue.asyncAfter(deadline: .now() + seconds) { timer.fire() }
        return timer
    }
}

/// An action that is forgotten, with everything it holds, as soon as it is cancelled.
private final class DispatchTimer: ScheduledAction {
    private let action: Mutex<(@Sendable () -> Void)?>

    init(_ action: @escaping @Sendable () -> Void) {
        self.action = Mutex(action)
    }

    func fire() {
        take()?()
    }

    func cancel() {
        _ = take()
    }

    private func take() -> (@Sendable () -> Void)? {
        action.withLock { action in
            defer { action = nil }
            return action
        }
    }
}
