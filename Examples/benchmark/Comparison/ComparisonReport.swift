#if ServerStack
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
        /// The library first, and then the reference of the ratios.
        let rows: [Row]
    }

    let size: WorkloadSize
    let rounds: Int
    let machine: String
    let versions: [String]
    let tables: [Table]

    /// Measures the workloads, after one round of each that isn't counted.
    static func measure(_ workloads: [Workload], _ size: WorkloadSize, rounds: Int) async throws -> Self {
        try await ServedFiles.withServer(size) { server in
            var tables: [Table] = []
            for workload in workloads {
                tables.append(try await measure(workload, size, rounds: rounds, server))
            }
            var versions = [server.program]
            for program in Set(workloads.flatMap(\.programs)).sorted(by: { $0.rawValue < $1.rawValue }) {
                if let version = try await program.version() { versions.append(version) }
            }
            return Self(size: size, rounds: rounds, machine: machine, versions: versions, tables: tables)
        }
    }

    private static func measure(
        _ workload: Workload, _ size: WorkloadSize, rounds: Int, _ server: ServedFiles
    ) async throws -> Table {
        var runs: [Program: [CommandRun]] = [:]
        for round in 0...rounds {
            for program in workload.programs {
                let directory = try TemporaryDirectory("compare")
                defer { directory.remove() }
                let transfers = workload.transfers(size, from: server, to: directory)
                guard let command = try program.command(workload, transfers, in: directory) else { continue }
                let run = try await CommandRun.measure(command, in: directory)
                try check(transfers, workload, size)
                if round > 0 { runs[program, default: []].append(run) }
            }
        }
        return Table(
            workload: workload,
            rows: workload.programs.compactMap { program in runs[program].map { Row(program: program, runs: $0) } })
    }

    /// Checks the number and the lengths of the files.
    private static func check(_ transfers: [FileTransfer], _ workload: Workload, _ size: WorkloadSize) throws {
        let length =
            switch workload {
            case .small: 4096
            case .large: size.mebibytes << 20
            case .limited: size.limitedMebibytes << 20
            }
        for transfer in transfers {
            let attributes = try FileManager.default.attributesOfItem(atPath: transfer.path)
            guard (attributes[.size] as? NSNumber)?.intValue == length else { throw CocoaError(.fileReadCorruptFile) }
        }
    }

    private static var machine: String {
        let information = ProcessInfo.processInfo
        return "\(information.activeProcessorCount) processors, "
            + "\(information.physicalMemory >> 30) GiB, \(information.operatingSystemVersionString)"
    }
}

// MARK: - Text

extension ComparisonReport {
    /// The report as Markdown.
    var markdown: String {
        var lines: [String] = []
        for table in tables {
            lines += ["### \(table.workload.title(size))", ""]
            let reference = table.rows.dropFirst().first
            let name = reference?.program.rawValue ?? "other"
            lines += [
                "| program | wall s | CPU s | wall / \(name) | CPU / \(name) |", "| --- | --- | --- | --- | --- |",
            ]
            for row in table.rows {
                lines.append(
                    "| \(row.program.rawValue) | \(Self.text(row.median(\.wallSeconds))) "
                        + "| \(Self.text(row.median(\.processorSeconds))) "
                        + "| \(Self.text(row.ratio(\.wallSeconds, to: reference))) "
                        + "| \(Self.text(row.ratio(\.processorSeconds, to: reference))) |")
            }
            lines.append("")
        }
        lines.append("Medians of \(rounds) rounds. \(machine). \(versions.joined(separator: "; ")).")
        return lines.joined(separator: "\n")
    }

    private static func text(_ value: Double?) -> String { value.map { String(format: "%.2f", $0) } ?? "" }
}

extension ComparisonReport.Row {
    /// The median of one cost.
    func median(_ cost: KeyPath<CommandRun, Double>) -> Double? { runs.map { $0[keyPath: cost] }.median }

    /// The median of the ratios to another program's cost in the same round.
    func ratio(_ cost: KeyPath<CommandRun, Double>, to reference: Self?) -> Double? {
        guard let reference else { return nil }
        return zip(runs, reference.runs).map { $0[keyPath: cost] / $1[keyPath: cost] }.median
    }
}

extension [Double] {
    /// The middle value in ascending order; nil if there is none.
    fileprivate var median: Double? { isEmpty ? nil : sorted()[count / 2] }
}
#endif
