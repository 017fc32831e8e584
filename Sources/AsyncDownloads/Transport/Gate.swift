/// A one-shot latch: whoever waits for it is called once it is open, at once if it is open already.
package final class Gate: Sendable {
    private enum State {
        case shut([@Sendable () -> Void])
        case open
    }

    private let state = Mutex(State.shut([]))

    package init() {}

    /// Opens the gate; later calls do nothing.
    ///
    /// The waiting bodies run on the caller's thread.
    package func open() {
        let waiting: [@Sendable () -> Void] = state.withLock { state in
            guard case .shut(let bodies) = state else { return [] }
            state = .open
            return bodies
        }
        for body in waiting { body() }
    }

    /// Calls `body` once, when the gate is open.
    package func whenOpen(_ body: @escaping @Sendable () -> Void) {
        let isOpen = state.withLock { state in
            guard case .shut(let bodies) = state else { return true }
            state = .shut(bodies + [body])
            return false
        }
        if isOpen { body() }
    }
}
