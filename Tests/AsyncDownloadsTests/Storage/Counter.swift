internal import AsyncDownloads

/// Counts the callers that are inside, or all callers if they never leave.
final class Counter: Sendable {
    private let inside = Mutex(0)

    /// Enters, and returns how many are inside now, the caller included.
    func enter() -> Int {
        inside.withLock { count in
            count += 1
            return count
        }
    }

    /// The number of callers that are inside.
    var count: Int { inside.withLock { $0 } }

    func leave() {
        inside.withLock { $0 -= 1 }
    }
}
