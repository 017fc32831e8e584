internal import TestSupport
internal import Testing

@testable import benchmark

/// Thousands of downloads that start, stop and end at random: each ends once, and nothing stays behind.
@Suite(.endsWhenHung(minutes: 12)) struct SoakTests {
    // URLSession on Linux does a fifth of the work in the same time.
    @Test(arguments: [(Engine.httpClient, 3000), (.urlSession, 1000)])
    func `a soak finds that every download ends and leaves nothing behind`(_ engine: Engine, _ count: Int) async throws
    {
        let run = try await SoakProcess(["--engine", engine.rawValue, "--downloads", "\(count)"])
        let report = run.report
        #expect(report.findings == [], "seed \(report.seed)")
        #expect(run.status == 0)
        #expect(report.outcomes.values.reduce(0, +) == count)
        #expect(report.tenths.count == 10)
        // That nothing is found says something only where everything has happened.
        for ending in ["finished", "cancelled", "superseded", "duplicate", "deadlineExceeded"] {
            #expect(report.outcomes[ending, default: 0] > 0, "\(ending)")
        }
        for event in ["paused", "resumed", "restarted", "retrying", "finished"] {
            #expect(report.events[event, default: 0] > 0, "\(event)")
        }
        #expect(report.joined > 0)
        #expect(report.finishedFiles > 0)
    }
}
