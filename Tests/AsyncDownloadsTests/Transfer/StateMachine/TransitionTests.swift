internal import Foundation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// The exits of each phase in `Documentation.docc/Development/Design.md`, compared with those that the machine takes.
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
        let documented = try Self.documented()
        #expect(Set(documented.keys) == Set(Phase.allCases))
        for phase in Phase.allCases {
            let (taken, documented) = (taken[phase] ?? [], documented[phase] ?? [])
            #expect(taken.subtracting(documented).map(\.rawValue).sorted() == [], "not documented: exits of \(phase)")
            #expect(documented.subtracting(taken).map(\.rawValue).sorted() == [], "never taken: exits of \(phase)")
        }
    }
}
