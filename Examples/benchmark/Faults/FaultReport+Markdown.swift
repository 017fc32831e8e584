internal import ConformanceRows
internal import Foundation

extension FaultReport {
    /// The summary in Markdown: a line for each group, the sums, the commands, and what was left out.
    var summary: String {
        var lines = Self.head(["servers", "rows"] + programs.map(\.rawValue))
        for group in ScenarioGroup.allCases {
            let trials = trials.filter { $0.group == group }
            if trials.isEmpty { continue }
            let rows = Set(trials.map(\.row)).count
            let cells = programs.map { program in
                Self.text(FaultTally(trials.filter { $0.program == program }))
            }
            lines.append(Self.line([group.rawValue, "\(rows)"] + cells))
        }
        let tallies = programs.map { program in FaultTally(trials.filter { $0.program == program }) }
        func add(_ title: String, _ text: (FaultTally) -> String) {
            lines.append(Self.line([title, ""] + tallies.map(text)))
        }
        lines.append(Self.line(["**all**", "\(Set(trials.map(\.row)).count)"] + tallies.map { "\($0.rightCount)" }))
        add("wrong file, reported as success") { "\($0[.wrongFile])" }
        add("failed, although the file was available") { "\($0[.failure])" }
        add("hung") { "\($0[.hang])" }
        add("body bytes sent for each byte of the right files") { Self.text($0.costOfRightFiles) }
        let same = programs.map { Self.text(ownCost(onFilesOf: $0)) }
        lines.append(Self.line(["the same of \(Program.library.rawValue), for the files of the column", ""] + same))
        lines += ["", conditions, "", "The commands:", ""]
        lines += programs.map { "- `\($0.faultCommandLine)`" }
        if !omissions.isEmpty { lines += ["", "Left out:", ""] + omissionLines }
        return lines.joined(separator: "\n")
    }

    /// A table with a line for each row: the verdict, the number of runs, and the body bytes of each program.
    var details: String {
        var lines = Self.head(["row"] + programs.map(\.rawValue))
        var rows: [String] = []
        for trial in trials where rows.last != trial.row { rows.append(trial.row) }
        for row in rows {
            let cells = programs.map { program in
                trials.first { $0.row == row && $0.program == program }.map { trial in
                    "\(trial.verdict.rawValue), \(trial.runCount) run\(trial.runCount == 1 ? "" : "s"), "
                        + "\(trial.sentByteCount) of \(trial.fileByteCount) bytes"
                } ?? ""
            }
            lines.append(Self.line([row] + cells))
        }
        return lines.joined(separator: "\n")
    }

    /// The rules and the machine in one paragraph.
    var conditions: String {
        let absent = missing.isEmpty ? "" : " Not installed: \(missing.map(\.rawValue).joined(separator: ", "))."
        return "Cells without words count right results. A program that exits with an error is run again in the same "
            + "directory, up to \(FaultTrial.maximumRunCount) runs. \(machine). "
            + "\(versions.joined(separator: "; ")).\(absent)"
    }

    /// The body bytes that were sent to the library for each byte of the files that it and another program got right.
    private func ownCost(onFilesOf program: Program) -> Double? {
        let rows = Set(trials.filter { $0.program == program && $0.verdict == .rightFile }.map(\.row))
        return FaultTally(trials.filter { $0.program == .library && rows.contains($0.row) }).costOfRightFiles
    }

    private var omissionLines: [String] {
        var reasons: [String] = []
        for omission in omissions where !reasons.contains(omission.reason) { reasons.append(omission.reason) }
        return reasons.map { reason in
            let rows = omissions.filter { $0.reason == reason }.map { "“\($0.row)”" }
            return "- \(rows.joined(separator: ", ")): \(reason)"
        }
    }

    /// The number of right results, followed by the others if there are any.
    private static func text(_ tally: FaultTally) -> String {
        let others = [(FaultVerdict.wrongFile, "wrong"), (.failure, "failed"), (.hang, "hung")]
            .filter { tally[$0.0] > 0 }.map { "\(tally[$0.0]) \($0.1)" }
        return others.isEmpty
            ? "\(tally.rightCount)" : "\(tally.rightCount) right, \(others.joined(separator: ", "))"
    }

    private static func text(_ ratio: Double?) -> String { ratio.map { String(format: "%.2f", $0) } ?? "" }

    private static func head(_ titles: [String]) -> [String] {
        [line(titles), line(titles.map { _ in "---" })]
    }

    private static func line(_ cells: [String]) -> String { "| \(cells.joined(separator: " | ")) |" }
}
