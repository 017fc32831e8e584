internal import Foundation

/// The results of the subcommand `compare`.
struct ComparisonReport: Sendable, Codable {
    /// The runs of one program in one workload.
    struct Row: Sendable, Codable {
        let program: Program
        let runs: [CommandRun]
    }

    /// One workload.
    struct Table: Sendable, Codable {
        let workload: Workload
        /// The library first.
        let rows: [Row]
    }

    let size: WorkloadSize
    /// The number of rounds; a workload with a fixed duration may have fewer.
    let rounds: Int
    let machine: String
    let versions: [String]
    let tables: [Table]

    /// Writes the tables, the measurements, and the charts to files in a directory, which is created if necessary.
    func write(to directory: URL) throws {
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let chart = ComparisonChart(
            bars: summary.map {
                ComparisonChart.Bar(workload: $0.title, reference: $0.other.rawValue, value: $0.wallRatio)
            })
        for (name, text) in [
            ("comparison.md", markdown + "\n"), ("comparison.json", try ScaleReport.encode(self) + "\n"),
            ("performance.svg", chart.svg(.light)), ("performance~dark.svg", chart.svg(.dark)),
        ] {
            try Data(text.utf8).write(to: directory.appending(path: name))
        }
    }
}

extension ComparisonReport.Row {
    /// The median of one cost.
    func median(_ cost: KeyPath<CommandRun, Double>) -> Double? { runs.map { $0[keyPath: cost] }.median }

    /// The median of the ratios of one cost to another program's in the same round.
    func ratio(_ cost: KeyPath<CommandRun, Double>, to other: Self) -> Double? {
        runs.map { $0[keyPath: cost] }.medianRatio(to: other.runs.map { $0[keyPath: cost] })
    }

    /// The median of the peaks of the resident memory in MiB; nil if they are not known.
    var peakMebibytes: Double? { runs.compactMap { $0.peakBytes.map { Double($0) / 1_048_576 } }.median }
}

// MARK: - Summary

extension ComparisonReport {
    /// The library beside one other program in one workload.
    struct SummaryRow: Sendable, Hashable {
        let title: String
        let other: Program
        /// The wall time of the library.
        let wallSeconds: Double
        /// The wall time of the other program.
        let otherSeconds: Double
        /// The ratio of the wall times.
        let wallRatio: Double
        /// The ratio of the processor times; nil if the other program uses none.
        let processorRatio: Double?
    }

    /// The comparisons with the references of each workload.
    var summary: [SummaryRow] {
        tables.flatMap { table in
            table.workload.references.compactMap { program in
                guard let own = table.rows.first(where: { $0.program == .library }),
                    let other = table.rows.first(where: { $0.program == program }),
                    let wall = own.median(\.wallSeconds), let otherWall = other.median(\.wallSeconds),
                    let ratio = own.ratio(\.wallSeconds, to: other)
                else { return nil }
                return SummaryRow(
                    title: table.workload.title(size), other: program, wallSeconds: wall, otherSeconds: otherWall,
                    wallRatio: ratio, processorRatio: own.ratio(\.processorSeconds, to: other))
            }
        }
    }
}
