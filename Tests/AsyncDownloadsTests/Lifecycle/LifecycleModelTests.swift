import TestSupport
import Testing

@testable import AsyncDownloads

/// Random lives of several callers of several resources, against a model of what a caller may expect.
@Suite(.endsWhenHung(minutes: 12))
struct LifecycleModelTests {
    @Test(arguments: 0..<8 as Range<UInt64>)
    func `whatever callers, server and clock do, every caller sees what the lifecycle says`(
        _ share: UInt64
    ) async throws {
        for seed in share * 25..<(share + 1) * 25 {
            let policies: [AbandonmentPolicy] = [.pause, .pause, .finish, .discard]
            let policy = policies[Int(seed % 4)]
            try await LifecycleStage.with(configure: { LifecycleRun.configure(&$0, policy) }) { stage async throws in
                let run = LifecycleRun(stage, policy, seed: seed)
                try await run.run(120)
                guard !run.violations.isEmpty else { return }
                let history = run.history.joined(separator: "\n")
                Issue.record("seed \(seed), \(policy.kind): \(run.violations)\n\(history)")
            }
        }
    }
}
