import TestSupport
import Testing

@testable import AsyncDownloads

@Suite(.endsWhenHung(minutes: 12))
struct SubscriberRunTests {
    @Test(arguments: 0..<8 as Range<UInt64>)
    func `each subscriber ends as its own limits, deadline, and pauses permit`(
        _ share: UInt64
    ) async throws {
        for seed in share * 40..<(share + 1) * 40 {
            let run = try SubscriberRun(seed: seed)
            try await run.run(150)
            if !run.violations.isEmpty { Issue.record("seed \(seed): \(run.violations)") }
        }
    }
}
