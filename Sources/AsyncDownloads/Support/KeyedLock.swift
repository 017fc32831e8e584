internal import Dispatch

/// A lock for each of any number of keys, held while a disk does its work.
///
/// Threads that wait for a key block, so it is for threads that may block anyway.
final class KeyedLock<Key: Hashable & Sendable>: Sendable {
    /// The keys that are held, each with those that wait for it, in the order in which they came.
    private let waiting = Mutex<[Key: [DispatchSemaphore]]>([:])

    /// Runs `body` while nobody else runs anything for `key`.
    func withLock<Value, Failure: Error>(_ key: Key, _ body: () throws(Failure) -> Value) throws(Failure) -> Value {
        acquire(key)
        defer { release(key) }
        return try body()
    }

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
