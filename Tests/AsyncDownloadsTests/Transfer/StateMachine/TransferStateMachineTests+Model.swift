internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Random runs of the state machine against a model of its environment.
@Suite(.endsWhenHung(minutes: 12))
struct TransferModelTests {
    @Test(arguments: Seeds.first(1000, inGroupsOf: 250))
    func `rules 52 to 56: in any order of inputs, the transfer comes to rest and mixes no versions`(
        _ seeds: Range<UInt64>
    ) {
        for seed in seeds {
            let run = Self.run(seed)
            Self.report(run, seed)
        }
    }

    @Test(arguments: Seeds.first(1000, inGroupsOf: 250))
    func `rules 52 to 56: the same is true of several exchanges at the same time`(_ seeds: Range<UInt64>) {
        for seed in seeds {
            let run = Self.run(seed, connections: 2 + Int(seed % 4))
            Self.report(run, seed)
        }
    }

    @Test(arguments: Seeds.first(500, inGroupsOf: 250))
    func `rule 58: without faults, a server that accepts one exchange delivers the file to several`(
        _ seeds: Range<UInt64>
    ) {
        for seed in seeds {
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

    @Test(arguments: Seeds.first(500, inGroupsOf: 250))
    func `without faults and commands, every transfer delivers its file`(_ seeds: Range<UInt64>) {
        for seed in seeds {
            var run = ModelRun(seed: seed, faults: 0, commands: 0)
            run.run()
            guard case .finished? = run.ending else {
                Issue.record("seed \(seed) did not deliver:\n\(run.history.joined(separator: "\n"))")
                continue
            }
            Self.report(run, seed)
        }
    }

    @Test(arguments: Seeds.first(500, inGroupsOf: 250))
    func `a transfer with enough retries delivers its file after temporary faults and pauses`(_ seeds: Range<UInt64>) {
        for seed in seeds {
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
        var missingEndings: Set = [
            "finished", "abandoned", "discarded", "paused", "bodyTooLarge", "connectionLost", "contentChanged",
            "diskFull", "httpStatus", "malformedResponse", "secureConnectionFailed",
            "storageFailure", "timedOut",
        ]
        var missingReasons: Set<RestartReason> = [
            .contentChanged, .rangeIgnored, .noValidator, .rangeNotSatisfiable, .invalidPartialResponse,
            .digestMismatch, .excessBytes, .checkpointCorrupt, .partialMissing,
        ]
        for seed in 0..<12_000 as Range<UInt64> {
            let run = Self.run(seed)
            missingReasons.subtract(run.restarts)
            switch run.ending {
            case .finished: missingEndings.remove("finished")
            case .failed(let error): missingEndings.remove(error.code.name)
            case .abandoned: missingEndings.remove("abandoned")
            case .discarded: missingEndings.remove("discarded")
            case nil: missingEndings.remove("paused")
            }
            if missingEndings.isEmpty, missingReasons.isEmpty { break }
        }
        #expect(missingEndings == [])
        #expect(missingReasons == [])
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
