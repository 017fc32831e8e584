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
        for seed in Seeds.first(2) {
            var host = SimulatedHost(rule, latency: .milliseconds(milliseconds), seed: seed)
            let outcome = host.run(1000)
            #expect(outcome.finishedCount == 1000)
            #expect(outcome.laterRefusalCount * 50 <= outcome.laterRequestCount, "\(outcome)")
            // The host permits 1000 requests in 90 s.
            #expect(outcome.end <= .seconds(125), "\(outcome)")
        }
    }

    @Test func `a host with a supply of requests is used at its rate`() {
        var host = SimulatedHost(.bucket(count: 100, perSecond: 10))
        let outcome = host.run(1000)
        #expect(outcome.finishedCount == 1000)
        #expect(outcome.refusalCount <= 100, "\(outcome)")
        #expect(outcome.end <= .seconds(130), "\(outcome)")
    }

    @Test(arguments: [2, 16, 40])
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
    private static func refused(seconds: Int) -> HostLimit.Answer { .refused(retryAfter: .seconds(seconds)) }

    @Test func `a cool-down halves the number once, and the number starts low again`() {
        var limit = HostLimit(.init())
        // Six, twelve, and 24 transfers.
        for _ in 0..<18 {
            limit.reserve(at: .zero)
            limit.answered(limit.begin(), .accepted, runningCount: 1, at: .zero)
            limit.succeeded(isInDemand: true)
        }
        #expect(limit.concurrency.count == 24)
        for _ in 0..<24 { limit.reserve(at: .zero) }
        let numbers = (0..<24).map { _ in limit.begin() }
        for (index, number) in numbers.enumerated() {
            limit.answered(number, Self.refused(seconds: 1), runningCount: 24 - index, at: .seconds(1))
        }
        #expect(limit.concurrency.count == 6)
        for _ in 0..<100 { limit.succeeded(isInDemand: true) }
        #expect(limit.concurrency.count == 12)
    }

    @Test func `a request that is withdrawn or lost doesn't block a probe`() {
        var limit = HostLimit(.init())
        for answer in [HostLimit.Answer.accepted, Self.refused(seconds: 5)] {
            limit.reserve(at: .zero)
            limit.answered(limit.begin(), answer, runningCount: 1, at: .zero)
        }
        #expect(limit.learned?.pace.count == 1)
        limit.reserve(at: .seconds(6))
        limit.answered(limit.begin(), .accepted, runningCount: 1, at: .seconds(6))
        #expect(limit.nextTime(at: .seconds(6)) == nil)
        limit.reserve(at: .seconds(6))
        #expect(limit.nextTime(at: .seconds(6)) != nil)
        limit.withdraw()
        #expect(limit.nextTime(at: .seconds(6)) == nil)
        limit.reserve(at: .seconds(6))
        limit.answered(limit.begin(), .nothing, runningCount: 1, at: .seconds(6))
        #expect(limit.nextTime(at: .seconds(6)) == nil)
    }
}
