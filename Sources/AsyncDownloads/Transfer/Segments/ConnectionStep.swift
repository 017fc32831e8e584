/// An increase of a transfer's number of connections, whose gain is judged.
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
    /// The minimum time after completion before a step that gains too little is rejected.
    ///
    /// New connections need several round trips to reach their share of the rate.
    private(set) var patience = Duration.milliseconds(200)

    /// The minimum rate of an effective connection, as a fraction of the rate of an earlier connection.
    private static let leastContribution = 0.24

    /// The relative increase of the rate if each new connection adds as much as an earlier one.
    var proportion: Double { Double(to - from) / Double(from) }

    /// Whether the step began before the rate of a single connection had settled, which may still have been increasing.
    var isEarly: Bool { from == 1 && !isSettled }

    /// Returns a step from the same number to twice as many, to be tried after a larger step has gained too little.
    ///
    /// Too many connections slow each other down; the remaining ones need some time to regain their share.
    func doubling(at now: Duration) -> Self {
        var step = Self(from: from, rate: rate, isSettled: isSettled, to: 2 * from, startedAt: now)
        step.patience = .seconds(3)
        return step
    }

    /// Returns the number of connections that would produce the gain if each contributed as much as the earlier ones.
    func effectiveCount(_ rate: RateWindows.Rate) -> Int {
        let count = (gain(rate) * Double(from) - Self.leastContribution).rounded(.up)
        return from + Int(min(max(count, 0), Double(to - from)))
    }

    /// Returns whether each new connection adds at least half as much as an earlier one, on average.
    func isProven(by rate: RateWindows.Rate) -> Bool { gain(rate) >= 0.5 * proportion }

    /// Returns the relative increase of the transfer's rate over the earlier rate.
    ///
    /// A loss of the other transfers is subtracted if it exceeds the usual variation of their rate.
    func gain(_ rate: RateWindows.Rate) -> Double {
        let loss = self.rate.others - rate.others
        let isLoss = loss > RateWindows.tolerance * self.rate.others
        return (rate.own - self.rate.own - (isLoss ? loss : 0)) / self.rate.own
    }
}
