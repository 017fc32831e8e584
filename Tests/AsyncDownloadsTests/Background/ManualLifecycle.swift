import Dispatch

@testable import AsyncDownloads

/// The life cycle of an app that a test controls.
final class ManualLifecycle: AppLifecycle {
    private struct State {
        var isInForeground = true
        var observers: [Int: @Sendable (LifecycleChange) -> Void] = [:]
        var activities: [Int: @Sendable () -> Void] = [:]
        var lastNumber = 0
        var expiresAtOnce = false
    }

    private let state = Mutex(State())

    init(closingTime: DispatchTimeInterval = .never) {
        self.closingTime = closingTime
    }

    /// Whether each activity expires before the call that begins it returns.
    var expiresAtOnce: Bool {
        get { state.withLock(\.expiresAtOnce) }
        set { state.withLock { $0.expiresAtOnce = newValue } }
    }

    let needsActivities = true
    let closingTime: DispatchTimeInterval

    var isInForeground: Bool { state.withLock { $0.isInForeground } }

    /// The number of activities that have neither ended nor expired.
    var activityCount: Int { state.withLock { $0.activities.count } }

    func enterForeground() { change(.willEnterForeground, isInForeground: true) }

    func enterBackground() { change(.didEnterBackground, isInForeground: false) }

    /// Calls the expiration handlers of all activities, as the system does before it suspends a process.
    func expire() {
        let expired = state.withLock { state in
            defer { state.activities = [:] }
            return state.activities.sorted { $0.key < $1.key }.map(\.value)
        }
        for body in expired { body() }
    }

    private func change(_ change: LifecycleChange, isInForeground: Bool) {
        let observers = state.withLock { state in
            state.isInForeground = isInForeground
            return state.observers.sorted { $0.key < $1.key }.map(\.value)
        }
        for observer in observers { observer(change) }
    }

    func observe(_ body: @escaping @Sendable (LifecycleChange) -> Void) -> any ScheduledAction {
        let number = state.withLock { state in
            state.lastNumber += 1
            state.observers[state.lastNumber] = body
            return state.lastNumber
        }
        return Removal { [self] in state.withLock { $0.observers[number] = nil } }
    }

    func beginActivity(_ reason: String, expired: @escaping @Sendable () -> Void) -> any ScheduledAction {
        let number = state.withLock { state in
            state.lastNumber += 1
            state.activities[state.lastNumber] = expired
            return state.lastNumber
        }
        if expiresAtOnce { expire() }
        return Removal { [self] in state.withLock { $0.activities[number] = nil } }
    }

    private struct Removal: ScheduledAction {
        let body: @Sendable () -> Void

        func cancel() { body() }
    }
}
