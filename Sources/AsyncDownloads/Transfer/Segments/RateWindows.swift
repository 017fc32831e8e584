/// The rates of a transfer in consecutive windows of a quarter of a second, and whether they have settled.
struct RateWindows: Sendable, Hashable {
    /// Bytes per second: those of the transfer, and those of all others of the downloader.
    struct Rate: Sendable, Hashable {
        var own = 0.0
        var others = 0.0
    }

    static let length = Duration.milliseconds(250)
    /// The number of windows that the mean of a flow in bursts needs.
    private static let burstCount = 8
    /// After how many windows a rate that still changes is taken as it is: ten seconds.
    private static let longestCount = 40
    static let tolerance = 0.1
    /// A window with less than this fraction of an earlier one shows that the flow arrives in bursts.
    private static let burstFraction = 0.5

    /// The rates since the last disturbance; the latest is the last one.
    private(set) var rates: [Rate] = []
    private var start: Duration?
    private var (ownCount, otherCount) = (Int64(0), Int64(0))
    /// The number of windows for which the flow still counts as arriving in bursts.
    private var burstMemory = 0

    /// Counts the bytes of the transfer since the last call, and those of the others.
    ///
    /// - Returns: The rate of the window that ends now; nil while it continues.
    mutating func add(_ count: Int64, others: Int64, at now: Duration) -> Rate? {
        guard let start else {
            // The bytes before the first call belong to no window.
            start = now
            return nil
        }
        (ownCount, otherCount) = (ownCount + count, otherCount + others)
        guard now - start >= Self.length else { return nil }
        let seconds = (now - start) / .seconds(1)
        let rate = Rate(own: Double(ownCount) / seconds, others: Double(otherCount) / seconds)
        let isDrop = rate.own < Self.burstFraction * (rates.suffix(Self.burstCount).map(\.own).max() ?? 0)
        burstMemory = isDrop ? Self.longestCount : max(0, burstMemory - 1)
        if rates.count == Self.longestCount { rates.removeFirst() }
        rates.append(rate)
        (self.start, ownCount, otherCount) = (now, 0, 0)
        return rate
    }

    /// Drops all windows, because they don't measure what the next ones do.
    mutating func void() {
        (rates, start, ownCount, otherCount) = ([], nil, 0, 0)
    }

    /// Whether the flow arrives in bursts, so that a single window says little.
    var isBursty: Bool { burstMemory > 0 }

    /// The rate, if that of the transfer has settled; nil otherwise.
    ///
    /// It has if two windows in a row, or two means over two windows, are equal up to a tenth.
    /// A server that sends large parts may fill windows alternately with few and many. A flow in bursts has settled
    /// when two means over four or eight windows are equal, and any flow after ten seconds.
    var settled: Rate? {
        let counts = isBursty ? [Self.burstCount / 2, Self.burstCount] : [1, 2]
        if let mean = counts.lazy.compactMap(agreement).first { return mean }
        return rates.count == Self.longestCount ? mean(Self.burstCount) : nil
    }

    /// The mean of up to eight windows, where a decision can't wait; nil without any.
    var latest: Rate? { rates.isEmpty ? nil : mean(min(Self.burstCount, rates.count)) }

    /// Returns the mean of the last windows; nil if there are fewer.
    func mean(_ count: Int) -> Rate? {
        guard count > 0, rates.count >= count else { return nil }
        let sum = rates.suffix(count).reduce(into: Rate()) { sum, rate in
            sum.own += rate.own
            sum.others += rate.others
        }
        return Rate(own: sum.own / Double(count), others: sum.others / Double(count))
    }

    /// Returns the mean of the last windows and as many before them, if both have about the same mean.
    private func agreement(of count: Int) -> Rate? {
        guard let last = mean(count), let both = mean(2 * count), both.own > 0 else { return nil }
        // The difference of the halves is twice the difference of one of them from the mean of both.
        return 2 * abs(last.own - both.own) <= Self.tolerance * both.own ? both : nil
    }
}
