internal import Dispatch

/// Syncs of directories, of which one serves all threads that wait for it.
///
/// A sync of a directory makes all names in it durable. While one runs, further threads wait for the next one, because
/// the running one may not include their changes. The first of them performs it for all.
final class SharedSyncs: Sendable {
    private typealias Outcome = Result<Void, FileFailure>

    /// The message with which a thread that waits is resumed.
    private enum Message: Sendable {
        /// Another thread has performed the sync.
        case outcome(Outcome)
        /// The thread performs the sync, and resumes these others with the outcome.
        case perform(for: [Waiter])
    }

    /// A thread that waits; it is resumed once.
    private final class Waiter: Sendable {
        private let signal = DispatchSemaphore(value: 0)
        private let message = Mutex<Message?>(nil)

        func resume(_ message: Message) {
            self.message.withLock { $0 = message }
            signal.signal()
        }

        func wait() -> Message {
            while true {
                signal.wait()
                if let message = message.withLock({ $0 }) { return message }
            }
        }
    }

    /// The directories that are being synced, each with the threads that came meanwhile.
    private let waiting = Mutex<[ByteText: [Waiter]]>([:])

    /// Returns the result of a sync of `directory` that began after this call; `sync` performs one if necessary.
    func synchronize(_ directory: String, _ sync: () throws(FileFailure) -> Void) throws(FileFailure) {
        let directory = ByteText(directory)
        var others: [Waiter] = []
        if let waiter = enter(directory) {
            switch waiter.wait() {
            case .outcome(let outcome): return try outcome.get()
            case .perform(for: let waiters): others = waiters
            }
        }
        let outcome = Result { () throws(FileFailure) in try sync() }
        // The next sync begins before the others continue.
        let next = leave(directory)
        if let first = next.first { first.resume(.perform(for: Array(next.dropFirst()))) }
        for other in others { other.resume(.outcome(outcome)) }
        try outcome.get()
    }

    /// The number of threads that wait for the next sync of the directory.
    func waiterCount(of directory: String) -> Int { waiting.withLock { $0[ByteText(directory)]?.count ?? 0 } }

    /// Returns nil if the calling thread performs the sync, otherwise the waiter to wait with.
    private func enter(_ directory: ByteText) -> Waiter? {
        waiting.withLock { waiting in
            guard waiting[directory] != nil else {
                waiting[directory] = []
                return nil
            }
            let waiter = Waiter()
            waiting[directory]?.append(waiter)
            return waiter
        }
    }

    /// Returns the threads that the next sync serves.
    private func leave(_ directory: ByteText) -> [Waiter] {
        waiting.withLock { waiting in
            let next = waiting[directory] ?? []
            waiting[directory] = next.isEmpty ? nil : []
            return next
        }
    }
}
