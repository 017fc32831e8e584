/// A step of a transfer to more connections, whose gain is judged.
struct ConnectionStep: Sendable, Hashable {
    /// The number of connections before the step.
    let from: Int
    /// The rate with that number.
    let rate: RateWindows.Rate
    /// Whether that rate has settled; otherwise, it may have continued to increase without the step.
    let isSettled: Bool
    /// The number of connections after the step.
    var to: Int
    let startedAt: Duration
    /// The time at which every connection of the step first had a segment.
    var completedAt: Duration?
    /// How long after that a step that gains too little is rejected at the earliest.
    ///
    /// New connections take several round trips until they receive their share.
    private(set) var patience = Duration.milliseconds(200)

    /// A connection that brings less than this share of an earlier one isn't worthwhile.
    private static let leastContribution = 0.24

    /// By how much the rate increases if each connection adds as much as the earlier ones, as a fraction.
    var proportion: Double { Double(to - from) / Double(from) }

    /// Returns the step from the same number to twice as many, after more connections have gained too little.
    ///
    /// Too many connections slow each one down, and those that remain take some time to receive their share again.
    func doubling(at now: Duration) -> Self {
        var step = Self(from: from, rate: rate, isSettled: isSettled, to: 2 * from, startedAt: now)
        step.patience = .seconds(3)
        return step
    }

    /// Returns as many connections as would bring the gain if each brought as much as the earlier ones.
    func worthwhileCount(_ rate: RateWindows.Rate) -> Int {
        let count = (gain(rate) * Double(from) - Self.leastContribution).rounded(.up)
        return from + Int(min(max(count, 0), Double(to - from)))
    }

    /// Returns whether the connections add at least half as much as the earlier ones.
    func isProven(by rate: RateWindows.Rate) -> Bool { gain(rate) >= 0.5 * proportion }

    /// Returns by how much a rate of the transfer is higher than the earlier one, as a fraction.
    ///
    /// What the other transfers have lost is subtracted if it is more than their rate varies without a step.
    func gain(_ rate: RateWindows.Rate) -> Double {
        let loss = self.rate.others - rate.others
        let isLoss = loss > RateWindows.tolerance * self.rate.others
        return (rate.own - self.rate.own - (isLoss ? loss : 0)) / self.rate.own
    }
}
