/// A limit on the number of requests to one host within any period of a given length, which are spaced evenly.
///
/// ```swift
/// configuration.requestPace = RequestPace(count: 100, period: .seconds(10))
/// ```
///
/// With this pace, requests are started at intervals of at least a tenth of a second, because servers that limit requests often
/// refuse those that arrive at once; some that wait for new connections may still arrive together. After a time without requests,
/// up to ``burst`` of them may follow each other directly. No period contains more than ``count``.
public struct RequestPace: Sendable, Hashable {
    private static let counts = 1...1_000_000
    private static let periods = Duration.milliseconds(1)...Duration.seconds(86_400)

    /// The maximum number of requests within a period, from 1 to 1,000,000.
    public let count: Int

    /// The length of the period, from one millisecond to one day.
    public let period: Duration

    /// The maximum number of requests that follow each other directly, from 1 to ``count``.
    public let burst: Int

    /// Creates a pace of at most `count` requests within any period of this length.
    ///
    /// Values outside of the ranges of ``count``, ``period``, and ``burst`` are replaced by the nearest bound.
    public init(count: Int, period: Duration, burst: Int = 1) {
        self.count = min(max(count, Self.counts.lowerBound), Self.counts.upperBound)
        self.period = min(max(period, Self.periods.lowerBound), Self.periods.upperBound)
        self.burst = min(max(burst, 1), self.count)
    }

    /// The interval of evenly spaced requests.
    var interval: Duration { period / count }
}
