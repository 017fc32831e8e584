/// The port to the network path of the device.
package protocol PathMonitor: Sendable {
    /// The present path.
    var path: NetworkPath { get }

    /// Determines the path again, in case a change has not been reported yet.
    func refresh()

    /// Calls `body` with the present path before this function returns, and with each later path until the result is
    /// canceled.
    ///
    /// Later calls are made on any thread and may arrive out of order; ``path`` always has the latest value.
    func observe(_ body: @escaping @Sendable (NetworkPath) -> Void) -> any ScheduledAction
}

/// A monitor whose path is set by an adapter, or by a test.
package final class ManualPathMonitor: PathMonitor {
    private struct State {
        var path = NetworkPath()
        var observers: [Int: @Sendable (NetworkPath) -> Void] = [:]
        var lastNumber = 0
    }

    private struct Observation: ScheduledAction {
        let monitor: ManualPathMonitor
        let number: Int

        func cancel() { monitor.state.withLock { $0.observers[number] = nil } }
    }

    private let state = Mutex(State())

    /// Creates a monitor whose path every download may use.
    package init() {}

    /// The present path; setting a different one notifies the observers.
    package var path: NetworkPath {
        get { state.withLock(\.path) }
        set { update { $0 = newValue } }
    }

    /// Changes the path, and notifies the observers if it differs.
    ///
    /// - Parameter change: Determines the path. The closure is called under the lock, so that an outdated path never
    ///   replaces a newer one.
    func update(_ change: (inout NetworkPath) -> Void) {
        let (observers, path) = state.withLock { state in
            let former = state.path
            change(&state.path)
            return (former == state.path ? [] : Array(state.observers.values), state.path)
        }
        for observer in observers { observer(path) }
    }

    package func refresh() {}

    package func observe(_ body: @escaping @Sendable (NetworkPath) -> Void) -> any ScheduledAction {
        let (path, number) = state.withLock { state in
            state.lastNumber += 1
            state.observers[state.lastNumber] = body
            return (state.path, state.lastNumber)
        }
        body(path)
        return Observation(monitor: self, number: number)
    }
}
