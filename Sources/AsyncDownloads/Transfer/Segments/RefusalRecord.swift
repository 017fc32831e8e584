/// A record of the refusals of a transfer's additional connections.
///
/// A refusal at the largest number of connections so far shows the limit of the host, which is then raised by one
/// connection every ten minutes. A refusal below that number may be a coincidence, or a limit that other files share;
/// no connection is requested for some time. Two such refusals in a row end all additional requests.
struct RefusalRecord: Sendable, Hashable {
    private static let firstDelay = Duration.seconds(30)
    private static let mostInARow = 2
    private static let recoveryTime = Duration.seconds(600)

    /// The number that the host permits; nil while unknown.
    private(set) var ceiling: Int?
    /// When the ceiling was set or raised.
    private var ceilingTime = Duration.zero
    /// The largest number of connections that had a segment at the same time.
    private var largestCount = 1
    private var pausedUntil = Duration.zero
    private var countInARow = 0

    /// Returns whether connections may be requested now.
    func mayRequest(at now: Duration) -> Bool { countInARow < Self.mostInARow && now >= pausedUntil }

    /// Records how many connections have a segment.
    mutating func record(segmentCount: Int) {
        largestCount = max(largestCount, segmentCount)
    }

    /// Raises the ceiling after some time, because the limit may have been temporary.
    mutating func recover(at now: Duration) {
        guard let ceiling, now - ceilingTime >= Self.recoveryTime else { return }
        (self.ceiling, ceilingTime) = (ceiling + 1, now)
    }

    /// Forgets the limit, because it may have applied to several files, and one of them has ended.
    mutating func otherFileEnded() {
        (ceiling, countInARow) = (nil, 0)
    }

    /// Records that a connection was accepted; `segmentCount` connections now have a segment.
    mutating func accepted(segmentCount: Int) {
        countInARow = 0
        record(segmentCount: segmentCount)
    }

    /// Records refusals, and returns the limit of the host if they show it.
    ///
    /// - Parameter segmentCount: The number of connections that had a segment when every request of the group was
    ///   answered.
    mutating func refused(segmentCount: Int, at now: Duration) -> Int? {
        if segmentCount >= largestCount {
            (ceiling, ceilingTime) = (max(1, segmentCount), now)
            return ceiling
        }
        countInARow += 1
        pausedUntil = now + Self.firstDelay * countInARow
        return nil
    }
}

/// The refusals of extra exchanges that are not judged yet, because other requests are unanswered.
///
/// The order of the responses to requests that were sent together says nothing about the limit of the host.
struct RefusalGroup: Sendable, Hashable {
    /// The largest number of exchanges that had a segment since the first refusal; nil without a refusal.
    private(set) var segmentCount: Int?
    /// The longest time that the host asks to wait.
    private(set) var retryAfter: Duration?

    var isEmpty: Bool { segmentCount == nil }

    /// Records that an exchange was refused while `segmentCount` exchanges had a segment.
    mutating func refused(segmentCount: Int, retryAfter: Duration?) {
        self.segmentCount = max(self.segmentCount ?? 0, segmentCount)
        if let retryAfter { self.retryAfter = max(self.retryAfter ?? .zero, retryAfter) }
    }

    /// Records that an exchange was accepted; `segmentCount` exchanges now have a segment.
    mutating func accepted(segmentCount: Int) {
        guard let count = self.segmentCount else { return }
        self.segmentCount = max(count, segmentCount)
    }
}
