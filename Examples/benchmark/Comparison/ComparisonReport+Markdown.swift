internal import Foundation

extension ComparisonReport {
    /// The report as Markdown: the summary, and a table for each workload.
    var markdown: String {
        (["## Summary", "", summaryTable, "", conditions] + tables.map { "\n" + text(of: $0) }).joined(separator: "\n")
    }

    /// The summary as a table in Markdown.
    var summaryTable: String {
        let header = [
            "| workload | async-downloads | beside | wall time | CPU time |", "| --- | --- | --- | --- | --- |",
        ]
        let rows = summary.map { row in
            "| \(row.title) | \(Self.text(row.wallSeconds)) s | \(row.other.rawValue), \(Self.text(row.otherSeconds)) s "
                + "| \(Self.text(row.wallRatio)) | \(Self.text(row.processorRatio)) |"
        }
        return (header + rows).joined(separator: "\n")
    }

    /// The conditions of the measurement in one line.
    var conditions: String {
        "Medians of \(rounds) rounds. \(machine). \(versions.joined(separator: "; "))."
    }

    private func text(of table: Table) -> String {
        var lines = [
            "### \(table.workload.title(size))", "",
            "| program | wall s | CPU s | peak MiB | wall, async-downloads / program | CPU, async-downloads / program |",
            "| --- | --- | --- | --- | --- | --- |",
        ]
        guard let own = table.rows.first else { return lines.joined(separator: "\n") }
        for row in table.rows {
            let isOwn = row.program == own.program
            let cells = [
                row.program.rawValue, Self.text(row.median(\.wallSeconds)), Self.text(row.median(\.processorSeconds)),
                row.peakMebibytes.map { String(format: "%.0f", $0) } ?? "",
                isOwn ? "" : Self.text(own.ratio(\.wallSeconds, to: row)),
                isOwn ? "" : Self.text(own.ratio(\.processorSeconds, to: row)),
            ]
            lines.append("| \(cells.joined(separator: " | ")) |")
        }
        return lines.joined(separator: "\n")
    }

    private static func text(_ value: Double?) -> String { value.map { String(format: "%.2f", $0) } ?? "" }
}
