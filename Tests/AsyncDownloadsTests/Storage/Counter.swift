internal import AsyncDownloads

/// Counts the callers that are inside.
final class Counter: Sendable {
    private let count = Mutex(0)

    /// Enters, and returns how many are inside now, the caller included.
    func enter() -> Int {
        count.withLock { count in
            count += 1
            return count
        }
    }

    func leave() {
        count.withLock { $0 -= 1 }
    }
}
