import ConformanceRows
import Foundation
import TestSupport
import Testing

/// The rules in `Documentation.docc/Development/ResumptionRules.md`, compared with the tests that prove them.
///
/// This suite does not check the rules themselves; it fails if a rule has lost its tests, or if a number is cited that
/// the document does not have. Rules 8, 21, 52, 53 and 58 also concern several connections for one file. They are
/// proven with the segments that one connection fetches in succession, and with the limit on connections.
@Suite(.endsWhenHung)
struct RuleCoverageTests {
    /// A test file and the rules that it proves in addition to the rows of the conformance tables.
    struct Proof: Sendable, CustomTestStringConvertible {
        let file: String
        let rules: [Int]

        var testDescription: String { file }

        init(_ file: String, _ rules: [Int]) {
            self.file = file
            self.rules = rules
        }
    }

    static let proofs: [Proof] = [
        Proof("Conformance/ConformanceTests.swift", [1, 2, 3, 4, 6, 7, 8, 34, 56]),
        Proof(
            "HTTP/Semantics/ResponseInterpreterTests+Partial.swift", [14, 15, 16, 17, 18, 19, 20, 21, 24, 25, 29, 33]),
        Proof("HTTP/Semantics/ResponseInterpreterTests+Status.swift", [26, 27, 31, 32, 36, 37]),
        Proof("HTTP/HostileInputTests.swift", [13]),
        Proof("HTTP/Fields/MessageFieldsTests.swift", [28]),
        Proof("HTTP/Fields/FileNameTests.swift", [64]),
        Proof("HTTP/Semantics/ValidatorTests.swift", [2, 3, 4, 21]),
        Proof("Transfer/StateMachine/TransferStateMachineTests.swift", [5, 12, 19, 22, 26, 27, 28, 47]),
        Proof("Transfer/StateMachine/TransferStateMachineTests+Segments.swift", [8, 21, 23]),
        Proof("Transfer/StateMachine/TransferStateMachineTests+Conditions.swift", [34]),
        Proof("Transfer/StateMachine/TransferStateMachineTests+Verification.swift", [35]),
        Proof("Transfer/StateMachine/TransferStateMachineTests+Excess.swift", [30]),
        Proof("Transfer/StateMachine/TransferStateMachineTests+Model.swift", [52, 53, 54, 55, 56]),
        Proof("Transfer/StateMachine/TransferStateMachineTests+Time.swift", [59]),
        Proof("Transfer/StateMachine/RedirectChainTests.swift", [10, 11]),
        Proof("Transfer/Scheduling/TransferKeyTests.swift", [51]),
        Proof("Transfer/Subscribers/EventStreamDeliveryTests.swift", [57]),
        Proof("Transfer/StateMachine/ProgressMeterTests.swift", [57]),
        Proof("Transfer/Scheduling/PermitQueueTests.swift", [58]),
        Proof("Facade/RecordTests.swift", [9, 12, 42, 46, 49]),
        Proof("Facade/RedirectFollowingTests.swift", [10, 11]),
        Proof("Facade/ContentChangePolicyTests.swift", [35]),
        Proof("Facade/RetryTests.swift", [36, 37, 59]),
        Proof("Facade/CoalescingTests.swift", [51]),
        Proof("Facade/PauseAndCancelTests.swift", [54, 55]),
        Proof("Facade/PauseTests.swift", [54, 55]),
        Proof("Facade/FanOutTests.swift", [58]),
        Proof("Facade/RequestTests.swift", [48]),
        Proof("Storage/Checkpoint/CrashTests.swift", [38, 39, 40, 41, 42, 46, 54]),
        Proof("HTTP/Semantics/ResponseInterpreterTests+Existing.swift", [31, 62]),
        Proof("Facade/ExistingFileTests.swift", [61, 62, 63]),
        Proof("Facade/ExistingFileNamesTests.swift", [46, 61]),
        Proof("Facade/DefaultFileNameTests.swift", [46, 64, 65]),
        Proof("Facade/ResponseConditionsTests.swift", [66]),
        Proof("Storage/Disk/FinishedFileRecordTests.swift", [60]),
        Proof("Storage/Staging/DirectoryStagingTests.swift", [67]),
        Proof("Storage/Disk/FinishedFileTests.swift", [60]),
        Proof("Storage/Disk/PartialStoreTests.swift", [38, 41, 43, 44]),
        Proof("Storage/Checkpoint/TamperingTests.swift", [39, 40, 41]),
        Proof("Storage/Disk/PartialNamesTests.swift", [43]),
        Proof("Storage/FileSystem/FaultTests.swift", [38, 44, 45]),
        Proof("Storage/Disk/ClosingTests.swift", [45]),
        Proof("Storage/Disk/OwnershipTests.swift", [50]),
        Proof("Storage/Disk/TwoOwnersTests.swift", [50]),
    ]

    private static let rows = ScenarioGroup.allCases.flatMap(\.rows)

    private static let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent()

    private static let root = tests.deletingLastPathComponent().deletingLastPathComponent()

    /// Returns the numbers of the rules in the order of the document.
    private static func documentedRules() throws -> [Int] {
        let document = root.appending(path: "Documentation.docc/Development/ResumptionRules.md")
        let text = try String(contentsOf: document, encoding: .utf8)
        return text.matches(of: #/(?m)^### Rule (\d+): /#).compactMap { Int($0.1) }
    }

    @Test
    func `the document has each rule once, in the order of the numbers`() throws {
        #expect(try Self.documentedRules() == Array(1...67))
    }

    @Test
    func `each rule in the document has a test`() throws {
        // A row that no engine can run is not a proof.
        let possible = Self.rows.filter { $0.impossible.count < Engine.allCases.count }
        let proven = Set(possible.flatMap(\.rules)).union(Self.proofs.flatMap(\.rules))
        let documented = Set(try Self.documentedRules())
        #expect(documented.subtracting(proven) == [])
        #expect(proven.subtracting(documented) == [])
    }

    @Test
    func `each rule that sources and tests cite is in the document`() throws {
        let documented = Set(try Self.documentedRules())
        for folder in ["Sources/AsyncDownloads", "Tests/AsyncDownloadsTests", "Tests/ConformanceRows"] {
            let path = Self.root.appending(path: folder).path
            let files = try #require(FileManager.default.enumerator(atPath: path))
            for case let file as String in files where file.hasSuffix(".swift") {
                let text = try String(contentsOfFile: "\(path)/\(file)", encoding: .utf8)
                #expect(Self.citations(in: text).subtracting(documented) == [], "\(file)")
            }
        }
    }

    @Test
    func `each row of the conformance tables proves a rule and has a unique name`() {
        #expect(Self.rows.allSatisfy { !$0.rules.isEmpty })
        #expect(Set(Self.rows.map(\.name)).count == Self.rows.count)
    }

    @Test(arguments: proofs)
    func `a file that proves rules cites them`(_ proof: Proof) throws {
        let text = try String(contentsOf: Self.tests.appending(path: proof.file), encoding: .utf8)
        #expect(Set(proof.rules).subtracting(Self.citations(in: text)) == [])
    }

    /// Returns the numbers after the word "rule" or "rules", as in "rules 1, 3 to 5 and 7".
    static func citations(in text: String) -> Set<Int> {
        var numbers: Set<Int> = []
        for citation in text.matches(of: /[Rr]ules? (\d+(?:(?:, | and | to )\d+)*)/) {
            var last = 0
            var isRange = false
            for word in citation.1.split(whereSeparator: { $0 == " " || $0 == "," }) {
                if let number = Int(word) {
                    numbers.formUnion((isRange ? min(last, number) : number)...number)
                    (last, isRange) = (number, false)
                } else {
                    isRange = word == "to"
                }
            }
        }
        return numbers
    }

    @Test(arguments: [
        ("rule 7", [7]), ("Rules 1, 3 to 5 and 7: x", [1, 3, 4, 5, 7]),
        ("(rules 38 to 40, 46)", [38, 39, 40, 46]),
        ("rule of thumb 3", []), ("no rules", []),
    ])
    func `lists and ranges of numbers in a citation are recognized`(_ text: String, _ numbers: [Int]) {
        #expect(Self.citations(in: text) == Set(numbers))
    }
}
