internal import Foundation
internal import TestSupport
internal import Testing

@testable import benchmark

/// Tests of whole comparisons in a separate process.
@Suite(.endsWhenHung)
struct CompareTests {
    @Test(arguments: Workload.allCases)
    func `each program downloads the files of a workload`(_ workload: Workload) async throws {
        // A round is measured after one that isn't counted, except in workloads whose duration a limit determines.
        let rounds = workload == .large ? 2 : 1
        let run = try await BenchmarkProcess<ComparisonReport>(
            "compare",
            [
                "--workloads", workload.rawValue, "--quick", "--files", "30", "--mebibytes", "1", "--rounds",
                "\(rounds)",
            ])
        #expect(run.status == 0)
        #expect(run.report.rounds == rounds)
        let table = try #require(run.report.tables.first)
        #expect(run.report.tables.count == 1 && table.workload == workload)
        let hasFile = Program.path(of: "nginx") != nil
        let installed = workload.programs.filter { $0.executable != nil && ($0 != .openssl || hasFile) }
        // Only nginx serves several origins.
        #expect(table.rows.map(\.program) == (hasFile || workload != .origins ? installed : []))
        #expect(table.rows.allSatisfy { $0.runs.count == rounds && $0.runs.allSatisfy { $0.wallSeconds > 0 } })
    }

    @Test func `the output directory receives the tables, the measurements, and both charts`() async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "benchmark-\(UUID())")
        defer { try? FileManager.default.removeItem(at: directory) }
        let run = try await BenchmarkProcess<ComparisonReport>(
            "compare",
            [
                "--workloads", "large", "--mebibytes", "1", "--rounds", "1", "--output",
                directory.appending(path: "new").path,
            ])
        #expect(run.status == 0)
        let names = try FileManager.default.contentsOfDirectory(atPath: directory.appending(path: "new").path)
        #expect(names.sorted() == ["comparison.json", "comparison.md", "performance.svg", "performance~dark.svg"])
    }
}
