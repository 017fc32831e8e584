/// The pace that the refusals of a host have shown.
///
/// The number of requests that were accepted in a period until the host refused one, and the length of that period
/// until the end of the cool-down, are taken as the host's limit. The limit may be an error, for example if the host
/// limits connections instead of requests. Therefore, more requests are tried from time to time, carefully: a probe
/// sends a single request beyond the limit, and then as many more as were accepted.
struct LearnedPace: Sendable, Hashable {
    private static let firstProbeInterval = 4
    private static let longestProbeInterval = 64

    private(set) var pace: RequestPace
    /// The time from which a probe may be sent.
    private(set) var probeTime = Duration.zero
    /// The time until the next probe, in periods.
    private var probeInterval = Self.firstProbeInterval
    /// Whether the host has refused more requests.
    var isConfirmed: Bool { probeTime > .zero }
    /// Whether the host has accepted a full number of requests in a period.
    private(set) var hasHeld = false
    /// The number of requests by which a confirmed limit is exceeded at most.
    var step: Int { max(1, pace.count / 16) }

    init(count: Int, period: Duration) {
        pace = RequestPace(count: count, period: Self.lengthened(period))
    }

    /// The time that the host measures differs from the time here by the delays of the network.
    private static func lengthened(_ period: Duration) -> Duration { period + period / 20 }

    /// Records that the host has accepted this many requests in a period, and refused none.
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

    /// Records that the host has refused a request within the limit, although it has held before.
    mutating func slowDown() {
        pace = RequestPace(count: pace.count - max(1, pace.count / 10), period: pace.period)
        hasHeld = false
    }
}
