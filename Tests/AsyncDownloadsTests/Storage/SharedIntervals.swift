@testable import AsyncDownloads

/// The written intervals, shared by a writer and a saver.
final class SharedIntervals: Sendable {
    private let intervals = Mutex(IntervalSet())

    var value: IntervalSet { intervals.withLock { $0 } }

    /// Adds a range, and returns all intervals.
    func insert(_ range: Range<Int64>) -> IntervalSet {
        intervals.withLock { intervals in
            intervals.insert(range)
            return intervals
        }
    }
}
