internal import Dispatch

/// The queue of one transfer, on which the store's operations run one after the other, on threads that may block.
///
/// An operation that takes no longer than the switch to another thread may run on the calling thread instead.
final class StoreQueue: Sendable {
    private struct State {
        /// Whether an operation runs, or a thread was requested for one.
        var isBusy = false
        var waiting: [@Sendable () -> Void] = []
    }

    // A separate quality-of-service class has separate worker threads, so that busy threads of URLSession cannot delay
    // a checkpoint.
    private static let threads = DispatchQueue(
        label: "async-downloads.stores", qos: .userInitiated, attributes: .concurrent)

    private let state = Mutex(State())

    /// Runs `operation` after all earlier ones.
    func async(_ operation: @escaping @Sendable () -> Void) {
        if begin(operation) { runOnThread(operation) }
    }

    /// Runs `operation` on the calling thread, or after all earlier ones if there are any.
    func runAtOnce(_ operation: @escaping @Sendable () -> Void) {
        guard begin(operation) else { return }
        operation()
        // The later operations may take long.
        if let next = next() { runOnThread(next) }
    }

    /// Returns whether the operation is to run now; otherwise it runs after the earlier ones.
    private func begin(_ operation: @escaping @Sendable () -> Void) -> Bool {
        state.withLock { state in
            defer { state.isBusy = true }
            if state.isBusy { state.waiting.append(operation) }
            return !state.isBusy
        }
    }

    private func runOnThread(_ operation: @escaping @Sendable () -> Void) {
        Self.threads.async { [self] in
            operation()
            while let next = next() { next() }
        }
    }

    private func next() -> (@Sendable () -> Void)? {
        state.withLock { state in
            guard !state.waiting.isEmpty else {
                state.isBusy = false
                return nil
            }
            return state.waiting.removeFirst()
        }
    }
}
