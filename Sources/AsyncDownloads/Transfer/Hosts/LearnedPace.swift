/// The pace that was learned from the refusals of an origin.
///
/// The limit is the number of requests that were accepted in a period before the origin refused one; the period lasts
/// until the end of the cool-down. The result may be wrong, for example if the origin limits connections instead of
/// requests. Therefore, more requests are tried from time to time, in a probe: it sends a single request beyond the
/// limit, and then one more for each accepted request.
struct LearnedPace: Sendable, Hashable {
    private static let firstProbeInterval = 4
    private static let longestProbeInterval = 64

    private(set) var pace: RequestPace
    /// The time from which a probe may be sent.
    private(set) var probeTime = Duration.zero
    /// The time until the next probe, in periods.
    private var probeInterval = Self.firstProbeInterval
    /// Whether the origin has refused a probe.
    var isConfirmed: Bool { probeTime > .zero }
    /// Whether the origin has accepted the full number of requests in a period.
    private(set) var hasHeld = false
    /// The maximum number of requests by which a confirmed limit is exceeded.
    var step: Int { max(1, pace.count / 16) }

    init(count: Int, period: Duration) {
        pace = RequestPace(count: count, period: Self.lengthened(period))
    }

    /// The period is longer than measured, because network delays distort the measurement.
    private static func lengthened(_ period: Duration) -> Duration { period + period / 20 }

    /// Records that the origin has accepted this many requests in a period without a refusal.
    mutating func held(count: Int) {
        hasHeld = true
        if isConfirmed { raise(to: min(count, pace.count + step)) }
    }

    /// Records that a probe was refused after this many accepted requests in a period.
    mutating func confirm(count: Int, period: Duration, until end: Duration) {
        let count = isConfirmed ? pace.count : max(pace.count, count)
        pace = RequestPace(count: count, period: max(pace.period, Self.lengthened(period)))
        probeTime = end + pace.period * probeInterval
        probeInterval = min(probeInterval * 2, Self.longestProbeInterval)
    }

    /// Records that this many requests were accepted in the period from which the pace was learned.
    mutating func raise(to count: Int) {
        pace = RequestPace(count: max(pace.count, min(count, RequestLog.leastCapacity)), period: pace.period)
    }

    /// Records that the origin has refused a request within the limit, although the limit was correct before.
    mutating func slowDown() {
        pace = RequestPace(count: pace.count - max(1, pace.count / 10), period: pace.period)
        hasHeld = false
    }
}
