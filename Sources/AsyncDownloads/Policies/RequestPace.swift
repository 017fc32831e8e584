/// A limit on the number of requests to one host within a period, with evenly spaced requests.
///
/// ```swift
/// configuration.requestPace = RequestPace(count: 100, period: .seconds(10))
/// ```
///
/// With this pace, requests start at intervals of at least a tenth of a second, because servers with a rate limit often
/// refuse requests that arrive at once. Requests that wait for new connections may still arrive together. After a time
/// without requests, up to ``burst`` requests may start without an interval. No period of this length contains more
/// than ``count`` requests.
public struct RequestPace: Sendable, Hashable {
    private static let counts = 1...1_000_000
    private static let periods = Duration.milliseconds(1)...Duration.seconds(86_400)

    /// The maximum number of requests within a period, from 1 to 1,000,000.
    public let count: Int

    /// The length of the period, from one millisecond to one day.
    public let period: Duration

    /// The maximum number of requests that start without an interval, from 1 to ``count``.
    public let burst: Int

    /// Creates a pace of at most `count` requests within any time of the length `period`.
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
