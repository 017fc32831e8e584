/// A limit on the number of requests to one host within any period of a given length.
///
/// ```swift
/// configuration.requestPace = RequestPace(count: 100, period: .seconds(10))
/// ```
///
/// Up to ``count`` requests may follow each other directly; the next one is sent when the first of them is older than
/// ``period``.
public struct RequestPace: Sendable, Hashable {
    private static let counts = 1...1_000_000
    private static let periods = Duration.milliseconds(1)...Duration.seconds(86_400)

    /// The maximum number of requests within a period, from 1 to 1,000,000.
    public let count: Int

    /// The length of the period, from one millisecond to one day.
    public let period: Duration

    /// Creates a pace of at most `count` requests within any period of this length.
    ///
    /// Values outside of the ranges of ``count`` and ``period`` are replaced by the nearest bound.
    public init(count: Int, period: Duration) {
        self.count = min(max(count, Self.counts.lowerBound), Self.counts.upperBound)
        self.period = min(max(period, Self.periods.lowerBound), Self.periods.upperBound)
    }
}
