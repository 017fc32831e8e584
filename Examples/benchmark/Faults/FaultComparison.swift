internal import ConformanceRows
internal import Foundation

/// The comparison of programs with the rows of the conformance tables.
enum FaultComparison {
    /// The number of trials at the same time; most of them wait for a process.
    private static let width = 4

    /// Runs each installed program with each row whose name contains the text; nil for all rows.
    static func run(rowsNamed text: String?, limit: Duration) async throws -> FaultReport {
        let root = try TemporaryDirectory("faults")
        defer { root.remove() }
        var trials: [FaultTrial] = []
        var omissions: [FaultReport.Omission] = []
        for (number, group) in ScenarioGroup.allCases.enumerated() {
            let rows = group.rows.filter { row in text.map { row.name.contains($0) } ?? true }
            omissions += rows.compactMap { row in
                row.reasonForOmission.map { FaultReport.Omission(row: row.name, reason: $0) }
            }
            let askable = rows.filter { $0.reasonForOmission == nil }
            if askable.isEmpty { continue }
            let progress = "\(number + 1) of \(ScenarioGroup.allCases.count): \(group.rawValue)\n"
            try? FileHandle.standardError.write(contentsOf: Data(progress.utf8))
            trials += try await run(askable, in: group, root, limit)
        }
        var versions: [String] = []
        for program in Program.faultPrograms {
            if let version = try await program.version(), !versions.contains(version) { versions.append(version) }
        }
        return FaultReport(
            machine: Machine.description, versions: versions,
            missing: Program.faultPrograms.filter { $0.executable == nil }, trials: trials, omissions: omissions)
    }

    /// Returns the trials of a group, in the order of the rows and of the programs.
    private static func run(
        _ rows: [Scenario], in group: ScenarioGroup, _ root: TemporaryDirectory, _ limit: Duration
    ) async throws -> [FaultTrial] {
        let pairs = rows.flatMap { row in Program.faultPrograms.map { (row: row, program: $0) } }
        return try await withThrowingTaskGroup(of: (Int, FaultTrial?).self) { tasks in
            var trials: [Int: FaultTrial] = [:]
            for (index, pair) in pairs.enumerated() {
                if index >= width, let (index, trial) = try await tasks.next() { trials[index] = trial }
                tasks.addTask {
                    (index, try await FaultTrial.run(pair.program, pair.row, in: group, root: root, limit: limit))
                }
            }
            for try await (index, trial) in tasks { trials[index] = trial }
            return pairs.indices.compactMap { trials[$0] }
        }
    }
}
