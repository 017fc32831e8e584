#if canImport(Darwin)
internal import Dispatch
internal import Foundation

/// The life cycle of the app that contains this process, from the notifications of its framework.
///
/// See ``LifecycleNotifications`` for what counts as being in the foreground.
final class SystemLifecycle: AppLifecycle {
    static let shared = SystemLifecycle()

    private struct State {
        var lifecycle: LifecycleState
        var observers: [Int: @Sendable (LifecycleChange) -> Void] = [:]
        var lastNumber = 0
    }

    private let state: Mutex<State>

    #if os(macOS)
    let needsActivities = false
    #else
    let needsActivities = true
    #endif

    private init() {
        #if os(macOS)
        let canBeSuspended = false
        #else
        let canBeSuspended = true
        #endif
        state = Mutex(
            State(
                lifecycle: LifecycleState(
                    isInForeground: LifecycleNotifications.startInForeground(
                        bundlePath: Bundle.main.bundlePath, canBeSuspended: canBeSuspended))))
        for (name, change) in LifecycleNotifications.changes { observe(name, change) }
    }

    private func observe(_ name: String, _ change: LifecycleChange) {
        // Without a queue, the system waits for the observers before it continues.
        _ = NotificationCenter.default.addObserver(forName: Notification.Name(name), object: nil, queue: nil) {
            [weak self] _ in self?.report(change)
        }
    }

    private func report(_ change: LifecycleChange) {
        let observers = state.withLock { state -> [@Sendable (LifecycleChange) -> Void] in
            guard state.lifecycle.apply(change) else { return [] }
            return state.observers.sorted { $0.key < $1.key }.map(\.value)
        }
        for observer in observers { observer(change) }
    }

    var isInForeground: Bool { state.withLock { $0.lifecycle.isInForeground } }

    func observe(_ body: @escaping @Sendable (LifecycleChange) -> Void) -> any ScheduledAction {
        let number = state.withLock { state in
            state.lastNumber += 1
            state.observers[state.lastNumber] = body
            return state.lastNumber
        }
        return Removal { [self] in state.withLock { $0.observers[number] = nil } }
    }

    func beginActivity(_ reason: String, expired: @escaping @Sendable () -> Void) -> any ScheduledAction {
        #if os(macOS)
        return Removal {}
        #else
        let end = DispatchSemaphore(value: 0)
        // The system calls the block on another thread, and again with `true` before it suspends the process.
        ProcessInfo.processInfo.performExpiringActivity(withReason: reason) { isExpired in
            if isExpired {
                expired()
                end.signal()
            } else {
                end.wait()
            }
        }
        return Removal { end.signal() }
        #endif
    }

    private struct Removal: ScheduledAction {
        let body: @Sendable () -> Void

        func cancel() { body() }
    }
}
#endif
