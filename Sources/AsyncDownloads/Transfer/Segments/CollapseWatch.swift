/// Detects that the rate of a transfer's connections has fallen to less than half of the accepted rate.
///
/// Some networks and servers slow down only after many connections have been open for a while. Rate that other
/// transfers gained in the meantime doesn't count as lost. A window without any byte is ignored, because the device may
/// have lost its network.
struct CollapseWatch: Sendable, Hashable {
    /// The time with a low rate after which the number is halved, for the first time and after that.
    private static let (patience, nextPatience) = (Duration.seconds(5), Duration.seconds(15))
    private static let ceilingTime = Duration.seconds(600)

    /// The maximum number of connections for some time after a collapse.
    private(set) var ceiling: Int?
    private var ceilingEnd = Duration.zero
    /// The rate with which the present number was accepted.
    private var acceptedRate: RateWindows.Rate?
    /// The time with a low rate, not counting windows in which nothing arrived.
    private var lowTime = Duration.zero
    private var hasHalved = false

    /// Records the rate of a number of connections that was judged.
    mutating func accepted(_ rate: RateWindows.Rate) {
        (acceptedRate, lowTime, hasHalved) = (rate, .zero, false)
    }

    /// Records a settled rate, unless the rate is currently low.
    mutating func observed(_ rate: RateWindows.Rate) {
        if lowTime == .zero, rate.own >= (acceptedRate?.own ?? 0) / 2 { acceptedRate = rate }
    }

    /// Handles the rate of a window, and returns whether the number is to be halved now.
    mutating func isDue(_ rate: RateWindows.Rate, for length: Duration) -> Bool {
        guard rate.own > 0 else { return false }
        guard let acceptedRate, rate.own + max(0, rate.others - acceptedRate.others) < acceptedRate.own / 2 else {
            (lowTime, hasHalved) = (.zero, false)
            return false
        }
        lowTime += length
        return lowTime > (hasHalved ? Self.nextPatience : Self.patience)
    }

    /// Records that the number was halved, so that half of the rate is expected.
    mutating func halved(to number: Int, at now: Duration) {
        (ceiling, ceilingEnd) = (number, now + Self.ceilingTime)
        // Lower rates are not recorded until the expected rate is reached.
        (lowTime, hasHalved) = (.nanoseconds(1), true)
        acceptedRate?.own /= 2
    }

    /// Discards the measurements, because the rates that follow are not comparable.
    mutating func void() {
        (acceptedRate, lowTime) = (nil, .zero)
    }

    /// Removes the ceiling, because its cause may have ended.
    mutating func removeCeiling() {
        ceiling = nil
    }

    /// Removes the ceiling when its time has passed.
    mutating func expire(at now: Duration) {
        if now >= ceilingEnd { removeCeiling() }
    }
}
