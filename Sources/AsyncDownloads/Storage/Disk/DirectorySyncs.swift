internal import Dispatch

/// The syncs of directories by the threads that wait for them.
///
/// A sync makes all names in a directory durable, so it serves all threads that were waiting when it began. Threads that
/// come during a sync wait for the next one, which the first of them performs. No other thread takes part, because the
/// start of a thread can take longer than a sync.
final class DirectorySyncs: Sendable {
    /// A thread that waits while another one performs a sync.
    private final class Waiter: Sendable {
        enum Outcome: Sendable {
            case synced(FileFailure?)
            /// The thread has to perform the next sync, which also serves the others.
            case isNext(others: [Waiter])
        }

        private let signal = DispatchSemaphore(value: 0)
        private let outcome = Mutex<Outcome?>(nil)

        func resume(_ outcome: Outcome) {
            self.outcome.withLock { $0 = outcome }
            signal.signal()
        }

        func wait() -> Outcome {
            signal.wait()
            guard let outcome = outcome.withLock(\.self) else { preconditionFailure("resumed without an outcome") }
            return outcome
        }
    }

    private let disk: any FileSystem
    /// The threads that wait for the next sync of each directory of which a sync is in progress.
    private let waiting = Mutex<[ByteText: [Waiter]]>([:])

    init(disk: any FileSystem) {
        self.disk = disk
    }

    /// Makes the present names in the directory durable; blocks until they are.
    func synchronize(_ path: String) throws(FileFailure) {
        let directory = ByteText(path)
        switch join(directory)?.wait() {
        case nil: try perform(directory, for: [])
        case .isNext(let others): try perform(directory, for: others)
        case .synced(let failure?): throw failure
        case .synced(nil): break
        }
    }

    /// The number of threads that wait for the next sync of the directory.
    func waitingCount(for path: String) -> Int { waiting.withLock { $0[ByteText(path)]?.count ?? 0 } }

    /// Returns the calling thread as one that waits for the next sync; nil if no sync is in progress.
    private func join(_ directory: ByteText) -> Waiter? {
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

    private func perform(_ directory: ByteText, for others: [Waiter]) throws(FileFailure) {
        let result = Result { () throws(FileFailure) in try disk.synchronizeDirectory(directory.text) }
        let next = waiting.withLock { waiting in
            let next = waiting[directory] ?? []
            waiting[directory] = next.isEmpty ? nil : []
            return next
        }
        next.first?.resume(.isNext(others: Array(next.dropFirst())))
        var failure: FileFailure?
        if case .failure(let error) = result { failure = error }
        for waiter in others { waiter.resume(.synced(failure)) }
        try result.get()
    }
}
