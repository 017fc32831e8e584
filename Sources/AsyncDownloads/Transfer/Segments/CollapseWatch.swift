/// Detects that the rate of several connections has fallen to less than half of what was accepted.
///
/// Some networks and servers get worse under many connections only after a while.
struct CollapseWatch: Sendable, Hashable {
    private static let patience = Duration.seconds(5)
    private static let nextPatience = Duration.seconds(15)
    private static let ceilingTime = Duration.seconds(600)

    /// The number that isn't exceeded for some time after a collapse.
    private(set) var ceiling: Int?
    private var ceilingEnd = Duration.zero
    /// The rate that the present number was accepted with.
    private var acceptedRate: Double?
    private var lowSince: Duration?
    private var hasHalved = false

    /// Records the rate of a number that was judged.
    mutating func accepted(_ rate: Double) {
        (acceptedRate, lowSince, hasHalved) = (rate, nil, false)
    }

    /// Records a settled rate, unless the rate is low at present.
    mutating func observed(_ rate: Double) {
        if lowSince == nil, rate >= (acceptedRate ?? 0) / 2 { acceptedRate = rate }
    }

    /// Handles the rate of a window, and returns whether the number is to be halved now.
    mutating func isDue(_ rate: Double, at now: Duration) -> Bool {
        guard let acceptedRate, rate < acceptedRate / 2 else {
            (lowSince, hasHalved) = (nil, false)
            return false
        }
        guard let lowSince else {
            lowSince = now
            return false
        }
        return now - lowSince >= (hasHalved ? Self.nextPatience : Self.patience)
    }

    /// Records that the number was halved, after which half of the rate is expected.
    mutating func halved(to number: Int, at now: Duration) {
        (ceiling, ceilingEnd) = (number, now + Self.ceilingTime)
        (lowSince, hasHalved) = (now, true)
        acceptedRate = acceptedRate.map { $0 / 2 }
    }

    /// Forgets what was measured, because the rates that follow are not comparable.
    mutating func void() {
        (acceptedRate, lowSince) = (nil, nil)
    }

    /// Removes the ceiling after its time.
    mutating func expire(at now: Duration) {
        if ceiling != nil, now >= ceilingEnd { ceiling = nil }
    }
}
