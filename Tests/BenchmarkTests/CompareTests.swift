internal import Foundation
internal import TestSupport
internal import Testing

@testable import benchmark

@Suite(.endsWhenHung)
struct CompareTests {
    @Test(arguments: [Workload.small, .large])
    func `each program downloads the files of a workload`(_ workload: Workload) async throws {
        let run = try await BenchmarkProcess<ComparisonReport>(
            "compare", ["--workloads", workload.rawValue, "--files", "30", "--mebibytes", "1", "--rounds", "2"])
        #expect(run.status == 0)
        #expect(run.report.rounds == 2)
        let table = try #require(run.report.tables.first)
        #expect(run.report.tables.count == 1 && table.workload == workload)
        let installed = workload.programs.filter { program in
            switch program {
            case .library, .bare: true
            case .curl, .wget2, .aria2c: Program.path(of: program.rawValue) != nil
            }
        }
        #expect(table.rows.map(\.program) == installed)
        #expect(table.rows.allSatisfy { $0.runs.count == 2 && $0.runs.allSatisfy { $0.wallSeconds > 0 } })
    }

    @Test func `a report has medians, and the ratios to the first other program`() {
        func runs(_ seconds: [Double]) -> [CommandRun] {
            seconds.map { CommandRun(wallSeconds: $0, processorSeconds: $0 / 2) }
        }
        let report = ComparisonReport(
            size: WorkloadSize(files: 10, mebibytes: 4), rounds: 3, machine: "a machine",
            versions: ["nginx 1", "curl 2"],
            tables: [
                ComparisonReport.Table(
                    workload: .small,
                    rows: [
                        ComparisonReport.Row(program: .library, runs: runs([1, 3, 2])),
                        ComparisonReport.Row(program: .curl, runs: runs([1, 1, 4])),
                    ]),
                ComparisonReport.Table(
                    workload: .limited, rows: [ComparisonReport.Row(program: .library, runs: runs([1]))]),
            ])
        let lines = report.markdown.split(separator: "\n").map(String.init)
        #expect(lines.first == "### 10 files of 4 KiB, 16 at a time")
        #expect(lines.contains("| async-downloads | 2.00 | 1.00 | 1.00 | 1.00 |"))
        #expect(lines.contains("| curl | 1.00 | 0.50 | 1.00 | 1.00 |"))
        #expect(lines.contains("| async-downloads | 1.00 | 0.50 |  |  |"), "there is no other program")
        #expect(lines.last == "Medians of 3 rounds. a machine. nginx 1; curl 2.")
    }

    @Test func `a list of files is read as it was written`() throws {
        let directory = try TemporaryDirectory("test")
        defer { directory.remove() }
        let url = try #require(URL(string: "http://127.0.0.1/a?b"))
        let transfers = [FileTransfer(url: url, path: "/tmp/with a space")]
        let list = directory.file("list")
        try Data(transfers.map(\.line).joined().utf8).write(to: list)
        let read = try FileTransfer.read(list)
        #expect(read.map(\.url) == [url] && read.map(\.path) == ["/tmp/with a space"])
    }
}
