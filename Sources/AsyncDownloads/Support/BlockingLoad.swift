/// The number of running operations, and of those that may begin.
///
/// Time is divided into periods, which end only while operations are waiting for a thread. An operation counts in the
/// period in which it began, and in the next one. After that, it takes long, and permits one more operation.
struct BlockingLoad: Sendable {
    /// The number of operations that may count at a time if none takes long.
    let width: Int
    /// The maximum number of operations that run at a time, including those that take long.
    let maximum: Int
    private var period = 0
    /// The number of running operations that began in this period.
    private var recentCount = 0
    /// The number of running operations that began in the previous period.
    private var olderCount = 0
    /// The number of running operations that take long.
    private var longCount = 0

    init(width: Int, maximum: Int = .max) {
        (self.width, self.maximum) = (width, maximum)
    }

    /// Whether another operation may begin.
    var hasRoom: Bool {
        let counted = recentCount + olderCount
        return counted < width + longCount && counted + longCount < maximum
    }

    /// Counts an operation, and returns the period in which it begins.
    mutating func begin() -> Int {
        recentCount += 1
        return period
    }

    /// Stops counting an operation that has ended.
    mutating func end(begunIn period: Int) {
        switch self.period - period {
        case 0: recentCount -= 1
        case 1: olderCount -= 1
        default: longCount -= 1
        }
    }

    /// Begins the next period.
    mutating func endPeriod() {
        period += 1
        (longCount, olderCount, recentCount) = (longCount + olderCount, recentCount, 0)
    }
}
