internal import Dispatch

/// A set of locks, one for each key, that may be held during disk I/O.
///
/// Threads that wait for a key block, so use it only on threads that may block.
final class KeyedLock<Key: Hashable & Sendable>: Sendable {
    /// The keys that are locked, each with the threads that wait for it, in the order of their arrival.
    private let waiting = Mutex<[Key: [DispatchSemaphore]]>([:])

    /// Runs `body` while no other thread runs a body for `key`.
    func withLock<Value, Failure: Error>(_ key: Key, _ body: () throws(Failure) -> Value) throws(Failure) -> Value {
        acquire(key)
        defer { release(key) }
        return try body()
    }

    /// Whether a thread runs a body for `key`.
    func isLocked(_ key: Key) -> Bool { waiting.withLock { $0[key] != nil } }

    private func acquire(_ key: Key) {
        let turn = waiting.withLock { waiting -> DispatchSemaphore? in
            guard waiting[key] != nil else {
                waiting[key] = []
                return nil
            }
            let turn = DispatchSemaphore(value: 0)
            waiting[key]?.append(turn)
            return turn
        }
        turn?.wait()
    }

    private func release(_ key: Key) {
        let next = waiting.withLock { waiting -> DispatchSemaphore? in
            guard let others = waiting[key], !others.isEmpty else {
                waiting[key] = nil
                return nil
            }
            return waiting[key]?.removeFirst()
        }
        next?.signal()
    }
}
