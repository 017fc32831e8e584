/// A latch that opens once and then runs the closures that wait for it.
package final class Gate: Sendable {
    private enum State {
        case shut([@Sendable () -> Void])
        case open
    }

    private let state = Mutex(State.shut([]))

    package init() {}

    /// Opens the gate and runs the waiting closures on the calling thread; later calls do nothing.
    package func open() {
        let waiting: [@Sendable () -> Void] = state.withLock { state in
            guard case .shut(let bodies) = state else { return [] }
            state = .open
            return bodies
        }
        for body in waiting { body() }
    }

    /// Calls `body` once: when the gate opens, on the thread that opens it, or at once if the gate is open.
    package func onOpen(_ body: @escaping @Sendable () -> Void) {
        let isOpen = state.withLock { state in
            guard case .shut(let bodies) = state else { return true }
            state = .shut(bodies + [body])
            return false
        }
        if isOpen { body() }
    }
}
