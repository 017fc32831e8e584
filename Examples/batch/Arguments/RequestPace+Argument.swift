internal import AsyncDownloads

extension RequestPace {
    private static let longestPeriod = 86_400.0
    private static let shortestPeriod = 0.001
    private static let counts = 1...1_000_000

    /// Reads a pace such as `100/10`: at most 100 requests in any 10 seconds.
    init(argument text: String) throws(Misuse) {
        let parts = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard parts.count == 2, let count = Int(Substring(parts[0])), Self.counts.contains(count),
            let seconds = Double(Substring(parts[1])), seconds >= Self.shortestPeriod,
            seconds <= Self.longestPeriod
        else {
            throw Misuse(
                "a pace is N/SECONDS, with a number from 1 to \(Self.counts.upperBound), and from \(Self.shortestPeriod) to "
                    + "\(Int(Self.longestPeriod)) seconds")
        }
        self.init(count: count, period: .seconds(seconds))
    }
}
