internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Random runs of the state machine against a model of its environment.
@Suite(.endsWhenHung(minutes: 12))
struct TransferModelTests {
    @Test(arguments: Seeds.first(1000, inGroupsOf: 250))
    func `rules 52 to 56: several exchanges at the same time come to rest and mix no versions`(
        _ seeds: Range<UInt64>
    ) {
        for seed in seeds {
            Self.check(seed) { Self.run(seed, connections: 2 + Int(seed % 4), keepsHistory: $0) }
        }
    }

    @Test(arguments: Seeds.first(500, inGroupsOf: 250))
    func `rule 58: without faults, a server that accepts one exchange delivers the file to several`(
        _ seeds: Range<UInt64>
    ) {
        for seed in seeds {
            let run = Self.check(seed, delivers: true) { keepsHistory in
                var run = ModelRun(
                    seed: seed, faults: 0, commands: 0, connections: 2 + Int(seed % 5), keepsHistory: keepsHistory)
                run.run()
                return run
            }
            #expect(run.machine.budget.retriesUsed == 0)
        }
    }

    @Test
    func `with a maximum of one, an automatic number changes nothing`() {
        for seed in 0..<300 as Range<UInt64> {
            let (faults, commands) = (Int(seed % 17), Int(seed % 9))
            var fixed = ModelRun(seed: seed, faults: faults, commands: commands, keepsHistory: true)
            var automatic = ModelRun(
                seed: seed, faults: faults, commands: commands, isAutomatic: true, keepsHistory: true)
            fixed.run()
            automatic.run()
            #expect(fixed.history == automatic.history)
        }
    }

    @Test(arguments: Seeds.first(500, inGroupsOf: 250))
    func `without faults and commands, every transfer delivers its file`(_ seeds: Range<UInt64>) {
        for seed in seeds {
            Self.check(seed, delivers: true) { keepsHistory in
                var run = ModelRun(seed: seed, faults: 0, commands: 0, keepsHistory: keepsHistory)
                run.run()
                return run
            }
        }
    }

    @Test(arguments: Seeds.first(500, inGroupsOf: 250))
    func `a transfer with enough retries delivers its file after temporary faults and pauses`(_ seeds: Range<UInt64>) {
        for seed in seeds {
            Self.check(seed, delivers: true) { keepsHistory in
                var run = ModelRun(
                    seed: seed, faults: 12, commands: 8, connections: 1 + Int(seed % 4), passing: true,
                    keepsHistory: keepsHistory)
                run.run()
                if run.machine.phase == .paused, run.violations.isEmpty {
                    run.commands = 0
                    run.run()
                }
                return run
            }
        }
    }

    @Test
    func `rules 52 to 56: the model reaches every ending and every restart reason, and mixes no versions`() {
        var missingEndings: Set = [
            "finished", "abandoned", "discarded", "paused", "bodyTooLarge", "connectionLost", "contentChanged",
            "diskFull", "httpStatus", "malformedResponse", "secureConnectionFailed",
            "storageFailure", "timedOut",
        ]
        var missingReasons: Set<RestartReason> = [
            .contentChanged, .rangeIgnored, .noValidator, .rangeNotSatisfiable, .invalidPartialResponse,
            .digestMismatch, .excessBytes, .checkpointCorrupt, .partialMissing,
        ]
        // Each of the first seeds is checked; later ones are tried only for what is still missing.
        let checked = Seeds.first(1000)
        for seed in 0..<max(12_000, checked.upperBound) {
            if !checked.contains(seed), missingEndings.isEmpty, missingReasons.isEmpty { break }
            let run = Self.check(seed) { Self.run(seed, keepsHistory: $0) }
            missingReasons.subtract(run.restarts)
            switch run.ending {
            case .finished: missingEndings.remove("finished")
            case .failed(let error): missingEndings.remove(error.code.name)
            case .abandoned: missingEndings.remove("abandoned")
            case .discarded: missingEndings.remove("discarded")
            case nil: missingEndings.remove("paused")
            }
        }
        #expect(missingEndings == [])
        #expect(missingReasons == [])
    }

    /// Runs a seed with few to many faults and commands.
    private static func run(_ seed: UInt64, connections: Int = 1, keepsHistory: Bool) -> ModelRun {
        var run = ModelRun(
            seed: seed, faults: 2 + Int(seed % 17), commands: Int(seed % 9), connections: connections,
            keepsHistory: keepsHistory)
        run.run()
        return run
    }

    /// Makes a run, and reports its violations and, if it `delivers`, a missing file.
    ///
    /// A history takes longer than its run, so that only a run that fails is made again with one.
    @discardableResult
    private static func check(
        _ seed: UInt64, delivers: Bool = false, _ make: (_ keepsHistory: Bool) -> ModelRun
    ) -> ModelRun {
        let run = make(false)
        var problems = run.violations + run.store.violations
        let isDelivered = if case .finished? = run.ending { true } else { false }
        if delivers, !isDelivered { problems.append("the file was not delivered") }
        if !problems.isEmpty {
            Issue.record("seed \(seed): \(problems)\n\(make(true).history.joined(separator: "\n"))")
        }
        return run
    }
}
