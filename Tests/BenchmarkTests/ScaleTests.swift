import TestSupport
import Testing

@testable import benchmark

/// Tests of the subcommand `scale` and of its report.
@Suite(.endsWhenHung) struct ScaleTests {
    @Test func `a run measures each number of downloads in a process of its own, and both ways of downloading files`()
        async throws
    {
        let run = try await BenchmarkProcess<ScaleReport>(
            "scale", ["--downloads", "300", "600", "--files", "40", "--rounds", "3"])
        #expect(run.status == 0)
        #expect(run.report.queues.map(\.downloads) == [300, 600])
        #expect(run.report.queues.allSatisfy { $0.requestSeconds > 0 && $0.startSeconds > 0 && $0.cancelSeconds > 0 })
        #expect(run.report.drain.files == 40)
        #expect(run.report.drain.startedSeconds.count == 3)
        #expect(run.report.drain.batchSeconds.count == 3)
    }

    @Test func `a report has the costs of one download, their growth, and the median of the paired ratios`() {
        let report = ScaleReport(
            engine: .preferred,
            queues: [
                QueueMeasurement(
                    downloads: 1000, bytesPerDownload: 1400, requestSeconds: 0.01, startSeconds: 0.01,
                    cancelSeconds: 0.002),
                QueueMeasurement(
                    downloads: 10_000, bytesPerDownload: 1300.4, requestSeconds: 0.2, startSeconds: 0.15,
                    cancelSeconds: 0.04),
            ],
            drain: DrainMeasurement(files: 100, width: 64, startedSeconds: [1, 2, 3], batchSeconds: [1, 1, 2]))
        #expect(report.drain.ratio == 1.5)
        let lines = report.table.split(separator: "\n")
        #expect(
            lines.map { $0.split(separator: " ") }.contains(["10000", "1300", "0.200", "0.150", "15.0", "0.040", "4.0"])
        )
        #expect(
            lines.contains(
                "from 1000 to 10000, the cost of one download changes by the factors 1.50 (start) and 2.00 (cancel)"))
        #expect(lines.last == "ratio 1.50, of the rounds 1.00, 1.50, 2.00")
    }
}
