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

    /// By how much the rate increases if each connection adds as much as the earlier ones, as a fraction.
    var proportion: Double { Double(to - from) / Double(from) }

    /// Returns the step from the same number to twice as many.
    func doubling(at now: Duration) -> Self {
        .init(from: from, rate: rate, isSettled: isSettled, to: 2 * from, startedAt: now)
    }

    /// Returns by how much a rate of the transfer is higher than the earlier one, as a fraction.
    ///
    /// What the other transfers have lost is subtracted if it is more than their rate varies without a step.
    func gain(_ rate: RateWindows.Rate) -> Double {
        let loss = self.rate.others - rate.others
        let isLoss = loss > RateWindows.tolerance * self.rate.others
        return (rate.own - self.rate.own - (isLoss ? loss : 0)) / self.rate.own
    }
}
