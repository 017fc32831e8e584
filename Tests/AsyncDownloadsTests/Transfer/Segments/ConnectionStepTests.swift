internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite(.endsWhenHung)
struct ConnectionStepTests {
    @Test(
        "the gain is the transfer's own, less what the others have lost",
        arguments: [
            (own: 200.0, others: 400.0, gain: 1.0),
            (150, 400, 0.5),
            // The rate of the others varies by up to a tenth without the step.
            (200, 370, 1),
            (200, 300, 0),
            (200, 200, -1),
            // The gain of other transfers doesn't count for this one.
            (150, 800, 0.5),
            (50, 400, -0.5),
        ])
    func gain(_ rate: (own: Double, others: Double, gain: Double)) {
        let step = ConnectionStep(
            from: 1, rate: .init(own: 100, others: 400), isSettled: true, to: 2, startedAt: .zero)
        #expect(step.gain(.init(own: rate.own, others: rate.others)) == rate.gain)
    }

    @Test(arguments: [(0.0, 2), (0.1, 2), (0.5, 3), (1, 4), (1.75, 6), (3, 8), (10, 8), (-1, 2)])
    func `as many connections are worthwhile as bring the gain`(gain: Double, count: Int) {
        let step = ConnectionStep(from: 2, rate: .init(own: 100), isSettled: true, to: 8, startedAt: .zero)
        #expect(step.effectiveCount(.init(own: 100 * (1 + gain))) == count)
    }

    @Test(arguments: [(1, 2, 1.0), (4, 8, 1), (4, 6, 0.5), (10, 16, 0.6)])
    func `the proportion is that of the added connections`(from: Int, to: Int, proportion: Double) {
        let step = ConnectionStep(from: from, rate: .init(), isSettled: false, to: to, startedAt: .zero)
        #expect(step.proportion == proportion)
    }
}
