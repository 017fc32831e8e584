package import Dispatch

/// The port to the life cycle of the app that contains this process.
package protocol AppLifecycle: Sendable {
    /// Whether the app is in the foreground, or is a program that has no background.
    var isInForeground: Bool { get }

    /// Whether an activity is needed to keep the system from suspending the process.
    var needsActivities: Bool { get }

    /// The time for which the closure `expired` of ``beginActivity(_:expired:)`` may block its thread.
    var closingTime: DispatchTimeInterval { get }

    /// Calls `body` with each later change, on any thread, until the result is released or canceled.
    func observe(_ body: @escaping @Sendable (LifecycleChange) -> Void) -> any ScheduledAction

    /// Asks the system not to suspend the process.
    ///
    /// - Parameter expired: A closure that is called at most once, when the system is about to suspend the process; the
    ///   process may be suspended as soon as it has returned.
    /// - Returns: A value that ends the activity when it is canceled.
    func beginActivity(_ reason: String, expired: @escaping @Sendable () -> Void) -> any ScheduledAction
}

extension AppLifecycle {
    // The system gives an app about five seconds.
    package var closingTime: DispatchTimeInterval { .seconds(4) }
}

/// A change in the life cycle of an app.
package enum LifecycleChange: Sendable, Hashable {
    case willEnterForeground
    case didEnterBackground
}

/// The life cycle of a program that is never suspended, such as a tool or a server.
package struct UninterruptedLifecycle: AppLifecycle {
    private struct Nothing: ScheduledAction {
        func cancel() {}
    }

    package init() {}

    package var isInForeground: Bool { true }
    package var needsActivities: Bool { false }

    package func observe(_ body: @escaping @Sendable (LifecycleChange) -> Void) -> any ScheduledAction { Nothing() }

    package func beginActivity(_ reason: String, expired: @escaping @Sendable () -> Void) -> any ScheduledAction {
        Nothing()
    }
}
