/// The share of lost connections, or of refusals, among the latest requests.
struct LossRatio: Sendable, Hashable {
    /// The number of requests after which earlier ones count half.
    private static let memory = 64
    /// The number of requests without a loss that are assumed after the number of transfers was lowered.
    private static let assumedCount = 16

    private var requestCount = 0
    private var lossCount = 0

    /// Whether at least a sixth of the connections was lost, as if the host served too few at the same time.
    var isHigh: Bool { lossCount >= 2 && lossCount * 6 >= requestCount }

    /// Whether at least a third of the requests, and eight or more, were refused, as if the origin limited their rate.
    var isVeryHigh: Bool { lossCount >= 8 && lossCount * 3 >= requestCount }

    mutating func add(isLoss: Bool) {
        if requestCount >= Self.memory { (requestCount, lossCount) = (requestCount / 2, lossCount / 2) }
        requestCount += 1
        if isLoss { lossCount += 1 }
    }

    mutating func forget() {
        (requestCount, lossCount) = (Self.assumedCount, 0)
    }
}
