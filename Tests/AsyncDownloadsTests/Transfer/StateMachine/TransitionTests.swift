internal import Foundation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// The exits of each phase in `Documentation.docc/Development/Design.md`, compared with the machine's exits.
@Suite(.endsWhenHung)
struct TransitionTests {
    typealias Phase = TransferStateMachine.Phase

    private static let document = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Documentation.docc/Development/Design.md")

    /// The exits that the document lists.
    private static func documented() throws -> [Phase: Set<Phase>] {
        let text = try String(contentsOf: document, encoding: .utf8)
        var exits: [Phase: Set<Phase>] = [:]
        for row in text.matches(of: /(?m)^\| `(\w+)` \| (.*) \|$/) {
            guard let phase = Phase(rawValue: String(row.1)) else { continue }
            exits[phase] = Set(row.2.matches(of: /`(\w+)`/).compactMap { Phase(rawValue: String($0.1)) })
        }
        return exits
    }

    @Test func `each phase has the exits that the design lists, and no others`() throws {
        var taken: [Phase: Set<Phase>] = [:]
        for seed in 0..<UInt64(3000) {
            var run = ModelRun(seed: seed, faults: 6, commands: 6)
            run.run()
            taken.merge(run.exits) { $0.union($1) }
        }
        taken.merge(Self.exitsOfStates()) { $0.union($1) }
        let documented = try Self.documented()
        #expect(Set(documented.keys) == Set(Phase.allCases))
        for phase in Phase.allCases {
            let (taken, documented) = (taken[phase] ?? [], documented[phase] ?? [])
            #expect(taken.subtracting(documented).map(\.rawValue).sorted() == [], "not documented: exits of \(phase)")
            #expect(documented.subtracting(taken).map(\.rawValue).sorted() == [], "never taken: exits of \(phase)")
        }
    }

    @Test func `a state machine takes less than 1,100 bytes, because many transfers are paused`() {
        #expect(MemoryLayout<TransferStateMachine>.size < 1100)
    }

    /// The exits of every reachable state by every input, by its delay, and by another URL.
    private static func exitsOfStates() -> [Phase: Set<Phase>] {
        var exits: [Phase: Set<Phase>] = [:]
        func record(_ start: StateMachineHarness, _ change: (inout StateMachineHarness) -> Void) {
            var harness = start
            change(&harness)
            let (before, after) = (start.machine.phase, harness.machine.phase)
            if before != after { exits[before, default: []].insert(after) }
        }
        var paced = TransferPacingTests.slowed()
        paced.automatic = []
        for start in ReachableState.allCases.map({ $0.harness() }) + [paced] {
            for input in TransferStateTableTests.Input.allCases {
                record(start) { TransferStateTableTests.give(input, to: &$0) }
            }
            record(start) { harness in
                guard let timer = harness.machine.timer else { return }
                harness.feed(harness.machine.retryDue(timer, at: harness.now))
            }
            record(start) { harness in
                let other = SourceAddress.Replacement(url: .sample("https://b.example/other"))
                harness.feed(harness.machine.replaceAddress(other, at: harness.now))
            }
            record(start) { $0.feed($0.machine.purge(at: $0.now)) }
            record(start) { $0.network(.noNetwork) }
            // The network is lost, which is noticed with the next input.
            var offline = start
            offline.machine.setPath(.without)
            record(offline) { $0.run() }
            record(offline) { harness in
                guard let timer = harness.machine.timer else { return }
                harness.feed(harness.machine.retryDue(timer, at: harness.now))
            }
        }
        // Delays that are so short that the permit is kept.
        let brief: (inout TransferSettings) -> Void = { $0.retryPolicy.baseDelay = .milliseconds(1) }
        var refused = StateMachineHarness.connecting(brief)
        refused.head(503, ["Content-Length": "1"])
        for start in [.connecting(brief), .receiving(brief), refused] { record(start) { $0.lose() } }
        var authorized = StateMachineHarness.receiving(brief)
        var policies = authorized.machine.policies
        policies.isAuthorizing = true
        authorized.machine.setPolicies(policies)
        authorized.lose()
        record(authorized) { $0.pass($0.delay ?? .zero) }
        // A server whose responses are short again and again.
        exits[.receiving, default: []].insert(paced.machine.phase)
        return exits
    }
}
