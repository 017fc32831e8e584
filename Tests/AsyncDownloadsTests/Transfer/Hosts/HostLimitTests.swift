internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// The limits of one host: simulated hosts, and single inputs.
@Suite(.endsWhenHung)
struct HostLimitTests {
    static let pacedRules: [SimulatedHost.Rule] = [
        .fixedWindow(count: 100, period: .seconds(10), offset: .zero),
        .fixedWindow(count: 100, period: .seconds(10), offset: .seconds(5)),
        .fixedWindow(count: 100, period: .seconds(10), offset: .milliseconds(9500)),
        .slidingWindow(count: 100, period: .seconds(10)),
    ]

    @Test(arguments: pacedRules, [1, 10, 50, 300])
    func `rule 37: after the first cool-down, a host that limits requests refuses at most 2 percent`(
        _ rule: SimulatedHost.Rule, milliseconds: Int
    ) {
        for seed in Seeds.first(1) {
            var host = SimulatedHost(rule, latency: .milliseconds(milliseconds), seed: seed)
            let outcome = host.run(1000)
            #expect(outcome.finishedCount == 1000)
            #expect(outcome.laterRefusalCount * 50 <= outcome.laterRequestCount, "\(outcome)")
            // The host permits 1000 requests in 90 s.
            #expect(outcome.end <= .seconds(125), "\(outcome)")
        }
    }

    @Test(arguments: [SimulatedHost.Refusal.untimed429, .untimed503], [1, 300])
    func `rule 37: a host that limits requests and states no time refuses no file often`(
        _ refusal: SimulatedHost.Refusal, milliseconds: Int
    ) {
        let rules: [SimulatedHost.Rule] = [
            .bucket(count: 10, perSecond: 10), .fixedWindow(count: 10, period: .seconds(1), offset: .zero),
            .slidingWindow(count: 50, period: .seconds(5)),
        ]
        for (rule, seed) in zip(rules, Seeds.first(3)) {
            var host = SimulatedHost(rule, latency: .milliseconds(milliseconds), seed: seed, refusal: refusal)
            let outcome = host.run(300)
            #expect(outcome.finishedCount == 300)
            // The retries that don't count, and those of the default policy.
            #expect(outcome.mostRefusals <= (refusal == .untimed429 ? 10 : 5), "\(outcome)")
            #expect(outcome.refusalCount <= 250, "\(outcome)")
            // The host permits 300 requests in 29 s.
            #expect(outcome.end <= .seconds(60), "\(outcome)")
        }
    }

    @Test(arguments: SimulatedHost.Refusal.allCases)
    func `rule 37: a host that refuses everything fails all transfers after a few requests`(
        _ refusal: SimulatedHost.Refusal
    ) {
        var host = SimulatedHost(.closed, refusal: refusal)
        let outcome = host.run(1000)
        #expect(outcome.failedCount == 1000)
        #expect(outcome.requestCount <= 250, "\(outcome)")
    }

    @Test func `a host with a supply of requests is used at its rate`() {
        var host = SimulatedHost(.bucket(count: 100, perSecond: 10))
        let outcome = host.run(1000)
        #expect(outcome.finishedCount == 1000)
        #expect(outcome.refusalCount <= 100, "\(outcome)")
        #expect(outcome.end <= .seconds(130), "\(outcome)")
    }

    @Test(arguments: [2, 40])
    func `a host that limits connections refuses few requests and is used well`(count: Int) {
        var host = SimulatedHost(.connections(count: count))
        let outcome = host.run(10_000)
        #expect(outcome.finishedCount == 10_000)
        #expect(outcome.mostAtOnce == count)
        #expect(outcome.refusalCount <= 150, "\(outcome)")
        // With half of the connections, half of the latency each.
        #expect(outcome.end <= .milliseconds(50) * (10_000 / count) * 2, "\(outcome)")
    }

    @Test func `a host without limits is soon used with 64 transfers`() {
        var host = SimulatedHost(.unlimited)
        let outcome = host.run(10_000)
        #expect(outcome.refusalCount == 0)
        #expect(outcome.mostAtOnce <= 64)
        #expect(outcome.end <= .milliseconds(50) * (10_000 / 64) * 1.1, "\(outcome)")
    }

    @Test func `a configured number of transfers is exact`() {
        for rule in [SimulatedHost.Rule.unlimited, .connections(count: 1)] {
            var host = SimulatedHost(rule, HostLimit.Settings(transferCount: 3))
            _ = host.run(30)
            var queue = PermitQueue(limit: 64, HostLimit.Settings(transferCount: 3))
            for _ in 0..<10 { _ = queue.enqueue(host: "host", priority: .normal) }
            #expect(queue.grant(at: .zero).count == 3)
        }
    }

    @Test func `a configured pace is kept by a host that enforces it`() {
        let pace = RequestPace(count: 20, period: .seconds(1))
        var host = SimulatedHost(.unlimited, HostLimit.Settings(pace: pace))
        let outcome = host.run(200)
        #expect(outcome.finishedCount == 200)
        #expect(outcome.end >= .milliseconds(9950))
        #expect(outcome.end <= .milliseconds(10_500))
    }

    /// The limit of nginx with `rate=100r/s` and `burst=20`.
    @Test(arguments: [1, 10, 20])
    func `a configured pace is spaced evenly, so that a host with a small supply refuses nothing`(burst: Int) {
        let pace = RequestPace(count: 95, period: .seconds(1), burst: burst)
        var host = SimulatedHost(.bucket(count: 20, perSecond: 100), HostLimit.Settings(pace: pace))
        let outcome = host.run(1000)
        #expect(outcome.finishedCount == 1000)
        #expect(outcome.refusalCount == 0, "\(outcome)")
        #expect(outcome.end <= .seconds(11), "\(outcome)")
    }

    @Test func `a host that refuses everything is asked once in each cool-down at most`() {
        var host = SimulatedHost(.closed)
        let outcome = host.run(100, until: .seconds(60))
        #expect(outcome.finishedCount == 0)
        #expect(outcome.laterRequestCount <= 60 * 3, "\(outcome)")
    }
}

// MARK: - Single inputs

extension HostLimitTests {
    @Test func `a cool-down halves the number once, and the number starts low again`() {
        var limit = HostLimit(.init())
        // Six, twelve, and 24 transfers.
        for number in 1...18 {
            limit.answered(number, .accepted, lastNumber: number, runningCount: 1, at: .zero)
            limit.succeeded(isInDemand: true)
        }
        #expect(limit.concurrency.count == 24)
        for (index, number) in (19...42).enumerated() {
            limit.answered(
                number, .refused(retryAfter: .seconds(1)), lastNumber: 42, runningCount: 24 - index, at: .seconds(1))
        }
        #expect(limit.concurrency.count == 6)
        for _ in 0..<100 { limit.succeeded(isInDemand: true) }
        #expect(limit.concurrency.count == 12)
    }

    @Test func `a request that is withdrawn or lost doesn't block a probe`() {
        var (pace, lastNumber) = (OriginPace(), 0)
        func begin(at seconds: Int) -> Int {
            pace.reserve(lastNumber, at: .seconds(seconds))
            lastNumber += 1
            return lastNumber
        }
        func accept(_ number: Int) {
            pace.ended()
            pace.accepted(number)
        }
        accept(begin(at: 0))
        let refused = begin(at: 0)
        pace.ended()
        let isNew = pace.refused(refused, .seconds(5), lastNumber: lastNumber, at: .zero)
        #expect(isNew)
        #expect(pace.learned?.pace.count == 1)
        accept(begin(at: 6))
        #expect(pace.nextTime(at: .seconds(6)) == nil)
        pace.reserve(lastNumber, at: .seconds(6))
        #expect(pace.nextTime(at: .seconds(6)) != nil)
        pace.ended()
        #expect(pace.nextTime(at: .seconds(6)) == nil)
    }

    @Test(arguments: [1, 2, 4, 8, 24])
    func `a host that resets the connections beyond its limit loses no file`(count: Int) {
        for seed in Seeds.first(1) {
            var host = SimulatedHost(.resets(count: count), seed: seed)
            let outcome = host.run(2000)
            #expect(outcome.finishedCount == 2000, "\(outcome)")
            #expect(outcome.mostLosses <= 4, "\(outcome)")
            #expect(outcome.end <= .milliseconds(50) * (2000 / count) * 2 + .seconds(10), "\(outcome)")
        }
    }

    @Test(arguments: [(1, 32), (5, 8)])
    func `a host that loses a few connections is still used with many transfers`(percent: Int, least: Int) {
        for seed in Seeds.first(1) {
            var host = SimulatedHost(.unreliable(percent: percent), seed: seed)
            let outcome = host.run(10_000)
            #expect(outcome.finishedCount == 10_000)
            #expect(outcome.end <= .milliseconds(50) * (10_000 / least), "\(outcome)")
        }
    }

    @Test(arguments: [1, 7, 20])
    func `rule 37: resources that are always refused hardly delay the others`(count: Int) {
        for seed in Seeds.first(3) {
            var host = SimulatedHost(.closedResources(count: count, retryAfter: .seconds(3)), seed: seed)
            let outcome = host.run(60 + count, until: .seconds(600))
            #expect(outcome.finishedCount == 60, "\(outcome)")
            #expect(outcome.lastFinish <= .seconds(count == 1 ? 1 : 20), "\(outcome)")
        }
    }
}
