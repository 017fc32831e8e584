import TestSupport
import Testing

@testable import AsyncDownloads

/// Random sequences of commands for several downloads of several resources, compared with a model.
@Suite(.endsWhenHung(minutes: 12))
struct LifecycleModelTests {
    @Test(arguments: Seeds.first(32, inGroupsOf: 8))
    func `every subscriber observes what the life cycle model predicts`(
        _ seeds: Range<UInt64>
    ) async throws {
        for seed in seeds {
            let policies: [AbandonmentPolicy] = [.pause, .pause, .finish, .discard]
            let policy = policies[Int(seed % 4)]
            try await LifecycleFixture.with(configure: { LifecycleRun.configure(&$0, policy) }) {
                fixture async throws in
                let run = LifecycleRun(fixture, policy, seed: seed)
                try await run.run(120)
                guard !run.violations.isEmpty else { return }
                let history = run.history.joined(separator: "\n")
                Issue.record("seed \(seed), \(policy.kind): \(run.violations)\n\(history)")
            }
        }
    }
}
