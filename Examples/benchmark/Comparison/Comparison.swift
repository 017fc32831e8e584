internal import Foundation

/// The measurement of workloads, in which the programs take turns.
enum Comparison {
    /// Measures the workloads.
    ///
    /// All files are in one new directory, with a directory for each run. Small files are kept until the end, because
    /// ext4 takes longer to create a file for some minutes after many were removed.
    static func measure(_ workloads: [Workload], _ size: WorkloadSize, rounds: Int) async throws -> ComparisonReport {
        let root = try TemporaryDirectory("compare")
        defer { root.remove() }
        return try await ServedFiles.withServer(size, in: root) { server in
            var tables: [ComparisonReport.Table] = []
            for (number, workload) in workloads.enumerated() {
                let progress = "\(number + 1) of \(workloads.count): \(workload.title(size))\n"
                try? FileHandle.standardError.write(contentsOf: Data(progress.utf8))
                tables.append(try await measure(workload, size, rounds: rounds, server, in: root))
            }
            var versions = [server.program]
            for program in Set(workloads.flatMap(\.programs)).sorted(by: { $0.rawValue < $1.rawValue }) {
                if let version = try await program.version() { versions.append(version) }
            }
            return ComparisonReport(
                size: size, rounds: rounds, machine: Machine.description, versions: versions, tables: tables)
        }
    }

    private static func measure(
        _ workload: Workload, _ size: WorkloadSize, rounds: Int, _ server: ServedFiles, in root: TemporaryDirectory
    ) async throws -> ComparisonReport.Table {
        let rounds = workload.rounds(of: rounds)
        var runs: [Program: [CommandRun]] = [:]
        for round in (workload.isWarmedUp ? 0 : 1)...rounds {
            for program in workload.programs.rotated(by: round) {
                guard let run = try await run(program, workload, size, server, in: root) else { continue }
                if round > 0 { runs[program, default: []].append(run) }
            }
        }
        return ComparisonReport.Table(
            workload: workload,
            rows: workload.programs.compactMap { program in
                runs[program].map { ComparisonReport.Row(program: program, runs: $0) }
            })
    }

    /// Does a workload once; nil if the program cannot do it on this machine.
    private static func run(
        _ program: Program, _ workload: Workload, _ size: WorkloadSize, _ server: ServedFiles,
        in root: TemporaryDirectory
    ) async throws -> CommandRun? {
        if program == .exactRate {
            return CommandRun(wallSeconds: size.exactSeconds(workload), processorSeconds: 0)
        }
        let directory = try root.directory("run")
        let transfers = server.transfers(workload, size, to: directory)
        guard let command = try program.command(workload, transfers, from: server, in: directory) else { return nil }
        // The server still counts the requests of the run before.
        if workload == .requestLimit { try await Task.sleep(for: .seconds(size.requestSeconds)) }
        // The data of the run before would be written during this one.
        sync()
        let run = try await CommandRun.measure(command, in: directory)
        guard program.downloads else { return run }
        for transfer in transfers {
            let attributes = try FileManager.default.attributesOfItem(atPath: transfer.path)
            guard (attributes[.size] as? NSNumber)?.intValue == workload.fileLength(size) else {
                throw CocoaError(.fileReadCorruptFile)
            }
        }
        if !workload.hasManyFiles { directory.remove() }
        return run
    }
}

extension Array {
    /// Returns the elements in the same cyclic order, starting with another one.
    func rotated(by count: Int) -> [Element] {
        guard !isEmpty else { return [] }
        let start = count % self.count
        return Array(self[start...] + self[..<start])
    }
}
