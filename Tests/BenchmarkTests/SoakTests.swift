internal import TestSupport
internal import Testing

@testable import benchmark

/// Tests of whole soak runs.
@Suite(.endsWhenHung(minutes: 12)) struct SoakTests {
    @Test(arguments: Engine.allCases)
    func `hundreds of random downloads end once each and leak nothing`(_ engine: Engine) async throws {
        let count = 300
        let run = try await BenchmarkProcess<SoakReport>(
            "soak", ["--engine", engine.rawValue, "--downloads", "\(count)", "--seed", "1"])
        let report = run.report
        #expect(report.findings == [], "seed \(report.seed)")
        #expect(run.status == 0)
        #expect(report.outcomes.values.reduce(0, +) == count)
        #expect(report.tenths.count == 10)
        // The absence of findings is meaningful only if all outcomes and events have occurred.
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
