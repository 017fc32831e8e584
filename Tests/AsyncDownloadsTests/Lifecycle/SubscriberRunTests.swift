import TestSupport
import Testing

@testable import AsyncDownloads

@Suite(.endsWhenHung(minutes: 12))
struct SubscriberRunTests {
    @Test(arguments: Seeds.first(64, inGroupsOf: 16))
    func `each subscriber ends as its own limits, deadline, and pauses permit`(
        _ seeds: Range<UInt64>
    ) async throws {
        for seed in seeds {
            let run = try SubscriberRun(seed: seed)
            try await run.run(150)
            if !run.violations.isEmpty { Issue.record("seed \(seed): \(run.violations)") }
        }
    }
}
