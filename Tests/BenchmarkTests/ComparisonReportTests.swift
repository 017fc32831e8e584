internal import Foundation
internal import TestSupport
internal import Testing

@testable import benchmark

/// Tests of the texts that are made from measurements.
@Suite(.endsWhenHung)
struct ComparisonReportTests {
    private static func runs(_ seconds: [Double], mebibytes: Int64? = nil) -> [CommandRun] {
        seconds.map {
            CommandRun(wallSeconds: $0, processorSeconds: $0 / 2, peakBytes: mebibytes.map { $0 << 20 })
        }
    }

    private static func report(_ tables: [ComparisonReport.Table]) -> ComparisonReport {
        var size = WorkloadSize.full
        size.files = 10
        return ComparisonReport(
            size: size, rounds: 3, machine: "a machine", versions: ["nginx 1", "curl 2"], tables: tables)
    }

    private static let small = ComparisonReport.Table(
        workload: .small,
        rows: [
            ComparisonReport.Row(program: .library, runs: runs([1, 3, 2], mebibytes: 40)),
            ComparisonReport.Row(program: .curl, runs: runs([1, 1, 4], mebibytes: 14)),
            ComparisonReport.Row(program: .bare, runs: runs([2, 2, 2])),
        ])

    @Test func `a table has medians, peaks, and the medians of the ratios of each round`() {
        let lines = Self.report([Self.small]).markdown.split(separator: "\n").map(String.init)
        #expect(lines.contains("### 10 files of 4 KiB, 16 at a time"))
        #expect(lines.contains("| async-downloads | 2.00 | 1.00 | 40 |  |  |"))
        #expect(lines.contains("| curl | 1.00 | 0.50 | 14 | 1.00 | 1.00 |"))
        #expect(lines.contains("| bare engine | 2.00 | 1.00 |  | 1.00 | 1.00 |"))
        #expect(lines.contains("Medians of 3 rounds. a machine. nginx 1; curl 2."))
    }

    @Test func `the summary compares each workload with its references`() {
        let report = Self.report([Self.small])
        #expect(report.summary.map(\.other) == [.curl, .bare])
        #expect(
            report.summaryTable.split(separator: "\n").dropFirst(2) == [
                "| 10 files of 4 KiB, 16 at a time | 2.00 s | curl, 1.00 s | 1.00 | 1.00 |",
                "| 10 files of 4 KiB, 16 at a time | 2.00 s | bare engine, 2.00 s | 1.00 | 1.00 |",
            ])
    }

    @Test func `a reference that was not measured is left out, and one without processor time has no ratio of it`() {
        let report = Self.report([
            ComparisonReport.Table(
                workload: .rateLimit,
                rows: [
                    ComparisonReport.Row(program: .library, runs: Self.runs([10.1])),
                    ComparisonReport.Row(
                        program: .exactRate, runs: [CommandRun(wallSeconds: 10, processorSeconds: 0)]),
                ]),
            ComparisonReport.Table(
                workload: .slow, rows: [ComparisonReport.Row(program: .library, runs: Self.runs([1]))]),
        ])
        #expect(
            report.summaryTable.split(separator: "\n").dropFirst(2) == [
                "| 200 MiB, limited to 20 MiB/s | 10.10 s | exact rate, 10.00 s | 1.01 |  |"
            ])
        #expect(report.markdown.contains("| async-downloads | 1.00 | 0.50 |  |  |  |"), "there is no other program")
    }

    @Test(arguments: [
        ([3.0, 1, 2], 2.0), ([4.0, 1, 3, 2], 2.5), ([7.0], 7.0), ([], nil),
    ])
    func `a median is the middle value, or the mean of the two in the middle`(values: [Double], median: Double?) {
        #expect(values.median == median)
    }

    @Test func `ratios are formed in each round, and without rounds whose divisor is zero`() {
        #expect([1.0, 6, 5].medianRatio(to: [1, 2, 1]) == 3)
        #expect([1.0, 6].medianRatio(to: [0, 2]) == 3)
        #expect([1.0].medianRatio(to: [0]) == nil)
    }

    @Test func `the programs take turns in each position`() {
        #expect([1, 2, 3].rotated(by: 0) == [1, 2, 3])
        #expect([1, 2, 3].rotated(by: 4) == [2, 3, 1])
        #expect([Int]().rotated(by: 1) == [])
    }

    @Test func `a chart has a heading for each workload, a bar and a value for each ratio, and escapes the labels`() {
        let chart = ComparisonChart(bars: [
            ComparisonChart.Bar(workload: "a < b & c", reference: "curl", value: 0.5),
            ComparisonChart.Bar(workload: "a < b & c", reference: "aria2c", value: 20),
        ])
        let svg = chart.svg(.light)
        #expect(svg.components(separatedBy: ">a &lt; b &amp; c</text>").count == 2, "there is one heading")
        #expect(svg.contains(">beside curl</text>") && svg.contains(">beside aria2c</text>"))
        #expect(svg.contains(">0.50</text>") && svg.contains(">20.00</text>"))
        // The space for ratios up to 2 is 340 wide.
        #expect(svg.contains("width=\"85\"") && svg.contains("width=\"340\""))
        #expect(chart.svg(.dark) != svg)
    }
}
