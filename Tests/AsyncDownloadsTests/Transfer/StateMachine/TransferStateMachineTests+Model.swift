internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite("TransferStateMachine against a model of its surroundings", .endsWhenHung(minutes: 12))
struct TransferModelTests {
    @Test("rules 52 to 56: whatever comes in whatever order, it comes to rest and mixes nothing", arguments: 0..<8)
    func everything(_ share: UInt64) {
        for seed in share * 500..<(share + 1) * 500 {
            let run = Self.run(seed)
            Self.report(run, seed)
        }
    }

    @Test("without faults every transfer that is left alone delivers its file", arguments: 0..<4)
    func withoutFaults(_ share: UInt64) {
        for seed in share * 250..<(share + 1) * 250 {
            var run = ModelRun(seed: seed, faults: 0, commands: 0)
            run.run()
            guard case .finished? = run.ending else {
                Issue.record("seed \(seed) did not deliver:\n\(run.history.joined(separator: "\n"))")
                continue
            }
            Self.report(run, seed)
        }
    }

    @Test(
        "a transfer with retries enough delivers its file after any faults that pass, and any pauses", arguments: 0..<4)
    func persistence(_ share: UInt64) {
        for seed in share * 250..<(share + 1) * 250 {
            var run = ModelRun(seed: seed, faults: 12, commands: 8, passing: true)
            run.run()
            if run.machine.phase == .paused, run.violations.isEmpty {
                run.commands = 0
                run.run()
            }
            Self.report(run, seed)
            guard case .finished? = run.ending else {
                Issue.record("seed \(seed) did not deliver:\n\(run.history.joined(separator: "\n"))")
                continue
            }
        }
    }

    @Test("the model reaches every ending and every reason to begin again, or it would prove little")
    func endings() {
        var reached: Set<String> = []
        var restarts: Set<RestartReason> = []
        for seed in 0..<12_000 as Range<UInt64> {
            let run = Self.run(seed)
            restarts.formUnion(run.restarts)
            switch run.ending {
            case .finished: reached.insert("finished")
            case .failed(let error): reached.insert(error.code.name)
            case .abandoned: reached.insert("parked")
            case .discarded: reached.insert("discarded")
            case nil: reached.insert("paused")
            }
        }
        let expected: Set = [
            "finished", "parked", "discarded", "paused", "bodyTooLarge", "connectionLost", "contentChanged",
            "diskFull", "httpStatus", "malformedResponse", "secureConnectionFailed",
            "storageFailure", "timedOut",
        ]
        #expect(reached.isSuperset(of: expected), "missing: \(expected.subtracting(reached))")
        let reasons: Set<RestartReason> = [
            .contentChanged, .rangeIgnored, .noValidator, .rangeNotSatisfiable, .invalidPartialResponse,
            .digestMismatch, .excessBytes, .checkpointCorrupt, .partialMissing,
        ]
        #expect(restarts.isSuperset(of: reasons), "missing: \(reasons.subtracting(restarts))")
    }

    /// From calm to stormy.
    private static func run(_ seed: UInt64) -> ModelRun {
        var run = ModelRun(seed: seed, faults: 2 + Int(seed % 17), commands: Int(seed % 9))
        run.run()
        return run
    }

    private static func report(_ run: ModelRun, _ seed: UInt64) {
        let violations = run.violations + run.store.violations
        guard !violations.isEmpty else { return }
        Issue.record("seed \(seed): \(violations)\n\(run.history.joined(separator: "\n"))")
    }
}
