import AsyncDownloads
import Dispatch

/// A barrier that blocks threads from when it is shut until it is opened.
final class Hold: Sendable {
    private struct State {
        var gate: Gate?
        var hasWaiter = false
    }

    private let state = Mutex(State())

    /// Whether a thread waits, or has waited since the barrier was shut.
    var hasWaiter: Bool { state.withLock { $0.hasWaiter } }

    func shut() {
        // If the barrier is shut already, threads that wait keep the same gate.
        state.withLock { $0 = State(gate: $0.gate ?? Gate()) }
    }

    func open() {
        let gate = state.withLock { state in
            defer { state.gate = nil }
            return state.gate
        }
        gate?.open()
    }

    /// Returns at once unless the barrier is shut; otherwise blocks the thread until it is opened.
    func pass() {
        let gate = state.withLock { state in
            if state.gate != nil { state.hasWaiter = true }
            return state.gate
        }
        guard let gate else { return }
        let semaphore = DispatchSemaphore(value: 0)
        gate.onOpen { semaphore.signal() }
        semaphore.wait()
    }
}
