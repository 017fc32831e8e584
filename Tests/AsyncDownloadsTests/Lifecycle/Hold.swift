import AsyncDownloads
import Dispatch

/// Stops whoever comes by, from when it is shut until it is opened.
final class Hold: Sendable {
    private struct State {
        var gate: Gate?
        var hasVisitor = false
    }

    private let state = Mutex(State())

    /// Whether somebody waits, or has waited since it was shut.
    var hasVisitor: Bool { state.withLock { $0.hasVisitor } }

    func shut() {
        // Those who wait at a gate that is shut already wait for the same one.
        state.withLock { $0 = State(gate: $0.gate ?? Gate()) }
    }

    func open() {
        let gate = state.withLock { state in
            defer { state.gate = nil }
            return state.gate
        }
        gate?.open()
    }

    /// Returns at once where it is not shut, else when it is opened; blocks the thread.
    func pass() {
        let gate = state.withLock { state in
            if state.gate != nil { state.hasVisitor = true }
            return state.gate
        }
        guard let gate else { return }
        let semaphore = DispatchSemaphore(value: 0)
        gate.whenOpen { semaphore.signal() }
        semaphore.wait()
    }
}
