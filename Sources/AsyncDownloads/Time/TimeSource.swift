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
        // In floating point, since an Int of some watches has 32 bits, which hold two seconds of nanoseconds.
        let seconds = min(max(delay, .zero), .seconds(1 << 30)) / .seconds(1)
        return DispatchTimer(after: seconds, on: Self.queue, action)
    }
}

/// An action that is forgotten, with everything it holds, as soon as it is cancelled.
///
/// A source, since a block that Dispatch was given for later stays in its queue until then, and a server that downloads
/// with deadlines of an hour would keep a block for every download of that hour.
private final class DispatchTimer: ScheduledAction, @unchecked Sendable {  // Any thread may use a source of Dispatch's.
    private let source: any DispatchSourceTimer
    private let action: Mutex<(@Sendable () -> Void)?>

    init(after seconds: Double, on queue: DispatchQueue, _ action: @escaping @Sendable () -> Void) {
        source = DispatchSource.makeTimerSource(queue: queue)
        self.action = Mutex(action)
        source.schedule(deadline: .now() + seconds)
        // Until it goes off or is cancelled the source holds its handler, and by it the timer.
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
