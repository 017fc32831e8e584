@testable import AsyncDownloads

/// What has been written, as a writer and a saver share it.
final class SharedIntervals: Sendable {
    private let intervals = Mutex(IntervalSet())

    var value: IntervalSet { intervals.withLock { $0 } }

    /// Adds a range; the answer is all that is there then.
    func insert(_ range: Range<Int64>) -> IntervalSet {
        intervals.withLock { intervals in
            intervals.insert(range)
            return intervals
        }
    }
}
