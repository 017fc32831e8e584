import TestSupport
import Testing

@testable import AsyncDownloads

/// Random sequences of commands for downloads that share a transfer over several connections.
@Suite(.endsWhenHung(minutes: 12))
struct SeveralExchangesModelTests {
    @Test(arguments: Seeds.first(16, inGroupsOf: 8))
    func `rules 53 to 56: what has to hold for one connection holds for several`(_ seeds: Range<UInt64>) async throws {
        var largestCount = 0
        for seed in seeds {
            try await LifecycleFixture.with(configure: { LifecycleRun.configure(&$0, .pause) }) {
                fixture async throws in
                let run = SeveralExchangesRun(fixture, seed: seed)
                try await run.run(150)
                largestCount = max(largestCount, run.largestCount)
                guard !run.violations.isEmpty else { return }
                Issue.record("seed \(seed): \(run.violations)\n\(run.history.joined(separator: "\n"))")
            }
        }
        #expect(largestCount == SeveralExchangesRun.connectionCount)
    }
}
