/// What the refusals of further connections say about one transfer.
///
/// A refusal at the largest number so far is a limit of the host. A refusal below it is an accident or a limit that
/// others share, after which some time passes; two in a row end all further requests.
struct RefusalRecord: Sendable, Hashable {
    private static let firstDelay = Duration.seconds(30)
    private static let mostInARow = 2

    /// The number that the host permits; nil while unknown.
    private(set) var ceiling: Int?
    /// The largest number of connections that had a segment at the same time.
    private var largestCount = 1
    private var pausedUntil = Duration.zero
    private var countInARow = 0

    /// Returns whether connections may be requested now.
    func mayRequest(at now: Duration) -> Bool { countInARow < Self.mostInARow && now >= pausedUntil }

    /// Records how many connections have a segment.
    mutating func record(busyCount: Int) {
        largestCount = max(largestCount, busyCount)
    }

    /// Records that a connection was accepted.
    mutating func accepted() {
        countInARow = 0
    }

    /// Records a refusal, and returns the limit of the host if the refusal shows it.
    mutating func refused(aliveCount: Int, at now: Duration) -> Int? {
        if aliveCount >= largestCount {
            ceiling = max(1, aliveCount)
            return ceiling
        }
        countInARow += 1
        pausedUntil = now + Self.firstDelay * countInARow
        return nil
    }
}
