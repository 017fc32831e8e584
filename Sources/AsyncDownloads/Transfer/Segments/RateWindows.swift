/// The rates of consecutive windows of a quarter of a second, and whether they have settled.
struct RateWindows: Sendable {
    static let length = Duration.milliseconds(250)
    /// The number of windows that the mean of a flow in bursts needs.
    private static let burstCount = 8
    /// After how many windows a rate that still changes is taken as it is: ten seconds.
    private static let longestCount = 40
    private static let tolerance = 0.1
    /// A window with less than this fraction of an earlier one shows that the flow arrives in bursts.
    private static let burstFraction = 0.5

    /// The rates since the last disturbance, in bytes per second; the latest is the last one.
    private(set) var rates: [Double] = []
    private var start: Duration?
    private var byteCount: Int64 = 0
    /// The bytes since the last disturbance: those of one transfer, and those of all.
    private var counts = (own: Int64(0), all: Int64(0))
    /// The number of windows for which the flow still counts as arriving in bursts.
    private var burstMemory = 0

    /// Counts the bytes since the last call.
    ///
    /// - Parameters:
    ///   - count: The bytes of all transfers, which the rates measure.
    ///   - ownCount: Those of one transfer among them.
    /// - Returns: The rate of the window that ends now; nil while it continues.
    mutating func add(_ count: Int64, own ownCount: Int64, at now: Duration) -> Double? {
        guard let start else {
            // The bytes before the first call belong to no window.
            start = now
            return nil
        }
        byteCount += count
        counts = (counts.own + ownCount, counts.all + count)
        guard now - start >= Self.length else { return nil }
        let rate = Double(byteCount) / ((now - start) / .seconds(1))
        let isDrop = rate < Self.burstFraction * (rates.suffix(Self.burstCount).max() ?? 0)
        burstMemory = isDrop ? Self.longestCount : max(0, burstMemory - 1)
        if rates.count == Self.longestCount { rates.removeFirst() }
        rates.append(rate)
        (self.start, byteCount) = (now, 0)
        return rate
    }

    /// Drops all windows, because they don't measure what the next ones do.
    mutating func void() {
        (rates, start, byteCount, counts) = ([], nil, 0, (0, 0))
    }

    /// The fraction of the bytes since the last disturbance that are those of the one transfer; 1 without any bytes.
    var ownShare: Double { counts.all > 0 ? min(1, Double(counts.own) / Double(counts.all)) : 1 }

    /// Whether the flow arrives in bursts, so that a single window says little.
    var isBursty: Bool { burstMemory > 0 }

    /// The rate, if it has settled: two windows in a row, or two means over two windows, are equal up to a tenth.
    ///
    /// A server that sends large parts may fill windows alternately with few and many. A flow in bursts has settled
    /// when two means over four or eight windows are equal, and any flow after ten seconds.
    var settled: Double? {
        let counts = isBursty ? [Self.burstCount / 2, Self.burstCount] : [1, 2]
        if let mean = counts.lazy.compactMap(agreement).first { return mean }
        return rates.count == Self.longestCount ? mean(Self.burstCount) : nil
    }

    /// The mean of up to eight windows, where a decision can't wait; nil without any.
    var latest: Double? { rates.isEmpty ? nil : mean(min(Self.burstCount, rates.count)) }

    /// Returns the mean of the last windows; nil if there are fewer.
    func mean(_ count: Int) -> Double? {
        guard count > 0, rates.count >= count else { return nil }
        return rates.suffix(count).reduce(0, +) / Double(count)
    }

    /// Returns the mean of the last windows and as many before them, if both have about the same mean.
    private func agreement(of count: Int) -> Double? {
        guard let last = mean(count), let both = mean(2 * count), both > 0 else { return nil }
        // The difference of the halves is twice the difference of one of them from the mean of both.
        return 2 * abs(last - both) <= Self.tolerance * both ? both : nil
    }
}
