internal import AsyncDownloads

/// A signal that a download may have become able to start, sent by any thread to one task.
final class RoomSignal: Sendable {
    private struct State {
        var isSignaled = false
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    /// Ends the present or the next call of ``wait()``.
    func signal() {
        let waiter = state.withLock { state in
            state.isSignaled = state.waiter == nil
            return state.waiter.take()
        }
        waiter?.resume()
    }

    /// Waits for a signal since the last call; one task at a time may wait.
    func wait() async {
        await withCheckedContinuation { continuation in
            let isSignaled = state.withLock { state in
                defer { state.isSignaled = false }
                if !state.isSignaled { state.waiter = continuation }
                return state.isSignaled
            }
            if isSignaled { continuation.resume() }
        }
    }
}
