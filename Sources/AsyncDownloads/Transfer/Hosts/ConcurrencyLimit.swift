/// The number of transfers from one host that may run at the same time.
///
/// Unless the number is fixed, it starts at 6 and doubles each time that many transfers complete successfully while
/// others are waiting. A refusal (429 or 503) halves the number; the result becomes the ceiling, which is 64 at first.
/// The number then starts again at 6 or below, and the ceiling rises by a quarter at intervals. The interval doubles
/// with each refusal.
///
/// Frequent losses of connections lower the ceiling as well if more transfers are running than the host has served
/// without a loss, because some hosts reset the connections that exceed their limit.
struct ConcurrencyLimit: Sendable, Hashable {
    static let initialCount = 6
    static let maximumCount = 64
    private static let firstInterval = Duration.seconds(5)
    private static let longestInterval = Duration.seconds(600)

    /// Whether the number is configured.
    let isFixed: Bool
    /// The number of transfers that may run.
    private(set) var count: Int
    private var ceiling = Self.maximumCount
    /// The number of transfers that have completed successfully since the count last changed.
    private var successCount = 0
    /// The time at which the ceiling rises, if it was lowered.
    private var riseTime = Duration.zero
    private var interval = Self.firstInterval
    /// The number of transfers that have run while twice as many requests were accepted without a loss.
    private var provenCount = 0
    /// The number of accepted requests since the last loss.
    private var acceptedCount = 0
    private var losses = LossRatio()

    /// Creates a limit.
    ///
    /// - Parameter fixedCount: The fixed number; nil for a number that adapts. A number below 1 counts as 1.
    init(fixedCount: Int?) {
        isFixed = fixedCount != nil
        count = fixedCount.map { max(1, $0) } ?? Self.initialCount
    }

    /// Whether nothing has been learned about the host.
    var isInitial: Bool { isFixed || count == Self.initialCount && ceiling == Self.maximumCount }

    /// Records that the host has accepted a request.
    ///
    /// - Parameter runningCount: The number of running transfers.
    mutating func accepted(runningCount: Int, at now: Duration) {
        losses.add(isLoss: false)
        acceptedCount += 1
        if acceptedCount >= runningCount * 2 { provenCount = max(provenCount, runningCount) }
        guard ceiling < Self.maximumCount, now >= riseTime else { return }
        ceiling = min(Self.maximumCount, ceiling + max(1, ceiling / 4))
        riseTime = now + interval
        if ceiling == Self.maximumCount { interval = Self.firstInterval }
    }

    /// Records that a transfer whose request was accepted no longer runs.
    ///
    /// - Parameter isInDemand: Whether another transfer is waiting for the host.
    mutating func succeeded(isInDemand: Bool) {
        guard !isFixed else { return }
        successCount += 1
        guard successCount >= count else { return }
        successCount = 0
        if isInDemand { count = max(count, min(ceiling, count * 2)) }
    }

    /// Records the first refusal since requests were last resumed.
    ///
    /// - Parameters:
    ///   - runningCount: The number of running transfers. If at most half of the permitted transfers ran, their number
    ///     isn't the cause, and the ceiling stays.
    ///   - end: The time from which requests are sent again.
    mutating func refused(runningCount: Int, until end: Duration) {
        guard !isFixed else { return }
        if runningCount * 2 > count { lowerCeiling(to: count / 2, until: end) }
        count = min(ceiling, Self.initialCount)
        successCount = 0
    }

    /// Records the loss of a connection, and returns whether the losses are frequent; the next losses have the same cause.
    ///
    /// - Parameter runningCount: The number of running transfers.
    mutating func lost(runningCount: Int, at now: Duration) -> Bool {
        acceptedCount = 0
        losses.add(isLoss: true)
        guard !isFixed, runningCount > 1, losses.isHigh else { return false }
        losses.forget()
        guard runningCount > provenCount else {
            // The host may have lowered its limit.
            provenCount = runningCount / 2
            return true
        }
        lowerCeiling(to: max(provenCount, runningCount / 2), until: now)
        count = min(ceiling, count)
        successCount = 0
        return true
    }

    private mutating func lowerCeiling(to newCount: Int, until end: Duration) {
        ceiling = max(1, min(ceiling, newCount))
        riseTime = end + interval
        interval = min(interval * 2, Self.longestInterval)
    }
}
