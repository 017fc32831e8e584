internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Random runs of the state machine against a model of its environment.
@Suite(.endsWhenHung(minutes: 12))
struct TransferModelTests {
    @Test(arguments: 0..<8)
    func `rules 52 to 56: in any order of inputs, the transfer comes to rest and mixes no versions`(_ share: UInt64) {
        for seed in share * 500..<(share + 1) * 500 {
            let run = Self.run(seed)
            Self.report(run, seed)
        }
    }

    @Test(arguments: 0..<8)
    func `rules 52 to 56: the same is true of several exchanges at the same time`(_ share: UInt64) {
        for seed in share * 500..<(share + 1) * 500 {
            let run = Self.run(seed, connections: 2 + Int(seed % 4))
            Self.report(run, seed)
        }
    }

    @Test(arguments: 0..<4)
    func `rule 58: without faults, a server that accepts one exchange delivers the file to several`(_ share: UInt64) {
        for seed in share * 250..<(share + 1) * 250 {
            var run = ModelRun(seed: seed, faults: 0, commands: 0, connections: 2 + Int(seed % 5))
            run.run()
            Self.report(run, seed)
            #expect(run.machine.budget.retriesUsed == 0)
            guard case .finished? = run.ending else {
                Issue.record("seed \(seed) did not deliver:\n\(run.history.joined(separator: "\n"))")
                continue
            }
        }
    }

    @Test
    func `with a maximum of one, an automatic number changes nothing`() {
        for seed in 0..<300 as Range<UInt64> {
            let (faults, commands) = (Int(seed % 17), Int(seed % 9))
            var fixed = ModelRun(seed: seed, faults: faults, commands: commands)
            var automatic = ModelRun(seed: seed, faults: faults, commands: commands, isAutomatic: true)
            fixed.run()
            automatic.run()
            #expect(fixed.history == automatic.history)
        }
    }

    @Test(arguments: 0..<4)
    func `without faults and commands, every transfer delivers its file`(_ share: UInt64) {
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

    @Test(arguments: 0..<4)
    func `a transfer with enough retries delivers its file after temporary faults and pauses`(_ share: UInt64) {
        for seed in share * 250..<(share + 1) * 250 {
            var run = ModelRun(seed: seed, faults: 12, commands: 8, connections: 1 + Int(seed % 4), passing: true)
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

    @Test
    func `the model reaches every ending and every restart reason`() {
        var reached: Set<String> = []
        var restarts: Set<RestartReason> = []
        for seed in 0..<12_000 as Range<UInt64> {
            let run = Self.run(seed)
            restarts.formUnion(run.restarts)
            switch run.ending {
            case .finished: reached.insert("finished")
            case .failed(let error): reached.insert(error.code.name)
            case .abandoned: reached.insert("abandoned")
            case .discarded: reached.insert("discarded")
            case nil: reached.insert("paused")
            }
        }
        let expected: Set = [
            "finished", "abandoned", "discarded", "paused", "bodyTooLarge", "connectionLost", "contentChanged",
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

    /// Runs a seed with few to many faults and commands.
    private static func run(_ seed: UInt64, connections: Int = 1) -> ModelRun {
        var run = ModelRun(
            seed: seed, faults: 2 + Int(seed % 17), commands: Int(seed % 9), connections: connections)
        run.run()
        return run
    }

    private static func report(_ run: ModelRun, _ seed: UInt64) {
        let violations = run.violations + run.store.violations
        guard !violations.isEmpty else { return }
        Issue.record("seed \(seed): \(violations)\n\(run.history.joined(separator: "\n"))")
    }
}
