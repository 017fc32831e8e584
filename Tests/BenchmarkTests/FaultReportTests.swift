internal import ConformanceRows
internal import Foundation
internal import LoopbackServer
internal import TestSupport
internal import Testing

@testable import benchmark

/// Tests of the verdicts on programs, and of the tables about bad servers.
@Suite(.endsWhenHung)
struct FaultReportTests {
    private static let results: [(Int32?, Bool, Bool, FaultVerdict)] = [
        (0, true, true, .rightFile), (0, true, false, .rightFile), (0, false, true, .wrongFile),
        (0, false, false, .wrongFile), (1, false, true, .failure), (1, true, true, .failure),
        (-1, false, true, .failure), (1, false, false, .rightError), (nil, true, true, .hang),
        (nil, false, false, .hang),
    ]

    @Test(arguments: results)
    func `a result is judged by the exit status, the bytes, and what the server offers`(
        _ status: Int32?, _ hasRightFile: Bool, _ expectsFile: Bool, _ verdict: FaultVerdict
    ) {
        #expect(
            FaultVerdict(status: status, hasRightFile: hasRightFile, expectsFile: expectsFile) == verdict)
        #expect(verdict.isRight == [.rightFile, .rightError].contains(verdict))
    }

    private static func row(_ name: String) throws -> Scenario {
        try #require(ScenarioGroup.allCases.flatMap(\.rows).first { $0.name == name })
    }

    @Test func `a program that failed is run again while the server offers the file or has faults left`() throws {
        let file = try Self.row("a truncated body is resumed")
        #expect(file.permitsRun(after: 5, requestCount: 9))
        #expect(!file.permitsRun(after: 6, requestCount: 0))
        let error = try Self.row("an error page is not written to the file, and the bytes are kept")
        #expect(error.permitsRun(after: 1, requestCount: 1), "the error is the second response")
        #expect(!error.permitsRun(after: 1, requestCount: 2))
        #expect(!error.permitsRun(after: 6, requestCount: 1))
    }

    @Test func `only rows about content codings and about parts of an engine are left out`() throws {
        let rows = ScenarioGroup.allCases.filter { $0 != .segments }.flatMap(\.rows)
        #expect(
            rows.filter { $0.reasonForOmission != nil }.map(\.name) == [
                "a server that supports a coding is asked for the identity",
                "a body that is coded despite the requested identity is stored whole",
                "a truncated coded body restarts",
            ])
        #expect(ScenarioGroup.segments.rows.allSatisfy { $0.reasonForOmission != nil })
    }

    @Test func `the right bytes are those of the row's outcome`() throws {
        let content = Content(seed: 2, length: 300_007)
        #expect(try Self.row("an object that has changed restarts").rightBody == .content(content))
        let refused = try Self.row("403 is final")
        #expect(refused.rightBody == refused.resource.body && !refused.expectsFile)
    }

    @Test(arguments: Program.faultPrograms)
    func `a command line shows the options of the program with placeholders`(_ program: Program) {
        let words = program.faultCommandLine.split(separator: " ")
        #expect(words.first == (program == .library ? "benchmark" : program.rawValue.split(separator: " ")[0]))
        #expect(program == .library ? words.contains("LIST") : words.last == "URL")
        #expect(!program.faultCommandLine.contains("/"))
    }

    private static func trial(
        _ row: String, _ program: Program, _ verdict: FaultVerdict, runs: Int = 1, sent: Int64 = 100,
        in group: ScenarioGroup = .plain
    ) -> FaultTrial {
        FaultTrial(
            group: group, row: row, program: program, verdict: verdict, runCount: runs, sentByteCount: sent,
            fileByteCount: 100)
    }

    private static let report = FaultReport(
        machine: "a machine", versions: ["curl 2"], missing: [.aria2c],
        trials: [
            trial("one", .library, .rightFile), trial("one", .curl, .rightFile, runs: 2, sent: 150),
            trial("two", .library, .rightFile, sent: 200), trial("two", .curl, .wrongFile),
            trial("three", .library, .failure, runs: 6), trial("three", .curl, .hang),
            trial("four", .library, .rightError, sent: 2, in: .final), trial("four", .curl, .rightError, in: .final),
        ],
        omissions: [
            .init(row: "five", reason: "It is coded."), .init(row: "six", reason: "It is slow."),
            .init(row: "seven", reason: "It is coded."),
        ])

    @Test func `the summary counts the verdicts of each group, and the bytes of right files`() {
        let lines = Self.report.summary.split(separator: "\n").map(String.init)
        #expect(
            lines.prefix(10) == [
                "| servers | rows | async-downloads | curl |", "| --- | --- | --- | --- |",
                "| correct servers, and interrupted bodies | 3 | 2 right, 1 failed | 1 right, 1 wrong, 1 hung |",
                "| final statuses, and statuses without the file | 1 | 1 | 1 |", "| **all** | 4 | 3 | 2 |",
                "| wrong file, reported as success |  | 0 | 1 |",
                "| failed, although the file was available |  | 1 | 0 |", "| hung |  | 0 | 1 |",
                "| body bytes sent for each byte of the right files |  | 1.50 | 1.50 |",
                "| the same of async-downloads, for the files of the column |  | 1.50 | 1.00 |",
            ])
        #expect(lines.contains { $0.hasSuffix("up to 6 runs. a machine. curl 2. Not installed: aria2c.") })
        #expect(lines.contains("- `\(Program.curl.faultCommandLine)`"))
        #expect(lines.suffix(2) == ["- “five”, “seven”: It is coded.", "- “six”: It is slow."])
    }

    @Test func `the details have a line for each row`() {
        let lines = Self.report.details.split(separator: "\n").map(String.init)
        #expect(lines.count == 6)
        #expect(
            lines[3] == "| two | right file, 1 run, 200 of 100 bytes | WRONG FILE, 1 run, 100 of 100 bytes |")
        #expect(
            lines[2] == "| one | right file, 1 run, 100 of 100 bytes | right file, 2 runs, 150 of 100 bytes |")
    }
}
