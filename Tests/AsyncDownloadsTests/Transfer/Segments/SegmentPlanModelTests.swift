internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite("SegmentPlan in random runs", .endsWhenHung)
struct SegmentPlanModelTests {
    @Test(arguments: [false, true])
    func `the plan keeps its rules, and every byte is written once`(hasFaults: Bool) {
        for seed in Seeds.first(200) {
            var run = PlanRun(seed: seed, hasFaults: hasFaults)
            run.run()
            if run.violations.isEmpty { continue }
            run = PlanRun(seed: seed, hasFaults: hasFaults, keepsHistory: true)
            run.run()
            Issue.record("seed \(seed): \(run.violations)\n\(run.history.joined(separator: "\n"))")
            return
        }
    }

    @Test(arguments: Seeds.first(200))
    func `the order of the responses does not matter`(seed: UInt64) {
        var generator = SplitMix64(seed: seed)
        var first = PlanFixture(length: Int64.random(in: 1...200, using: &generator) << 20)
        var requests = first.request(Int.random(in: 1...9, using: &generator), from: 2).count
        _ = first.accept(ExchangeID(rawValue: 2))
        requests += first.request(Int.random(in: 1...6, using: &generator), from: requests + 2).count
        var second = first
        let answered = first.table.requestIDs.filter { _ in
            Bool.random(using: &generator)
        }
        for exchange in answered { _ = first.accept(exchange) }
        for exchange in answered.shuffled(using: &generator) { _ = second.accept(exchange) }
        #expect(first.table.segments == second.table.segments)
        #expect(first.table.unassigned(first.received) == [])
    }
}
