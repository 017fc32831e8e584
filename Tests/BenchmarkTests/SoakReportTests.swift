import TestSupport
import Testing

@testable import benchmark

/// What a report finds in the figures of a run.
@Suite(.endsWhenHung) struct SoakReportTests {
    private static let process = ProcessSample(residentBytes: 50 << 20, descriptors: 16, threads: 6)

    /// The report of a run of which nothing is left but what `change` adds.
    private func report(
        after: ProcessSample = process, downloads: Int = 100_000, change: (inout SoakSession.Result) -> Void = { _ in }
    ) -> SoakReport {
        var result = SoakSession.Result()
        result.duration = .seconds(50)
        result.counts.outcomes = ["finished": downloads / 2, "cancelled": downloads - downloads / 2]
        result.tenths = (1...10).map { tenth in
            SoakSession.Tenth(downloads: downloads * tenth / 10, seconds: 5, process: Self.process, handles: 0)
        }
        change(&result)
        return SoakReport(
            Soak(downloads: downloads, seed: 1, engine: .httpClient), before: Self.process, after: after, result: result
        )
    }

    private func process(descriptors: Int = 16, threads: Int = 6) -> ProcessSample {
        ProcessSample(residentBytes: 50 << 20, descriptors: descriptors, threads: threads)
    }

    @Test func `a run that leaves nothing finds nothing`() {
        #expect(report().findings == [])
        #expect(report(after: process(descriptors: 15, threads: 5)).findings == [])
        #expect(report().downloadsPerSecond == 2000)
    }

    @Test func `one descriptor or thread more than before is found`() {
        #expect(report(after: process(descriptors: 17)).findings.count == 1)
        #expect(report(after: process(threads: 7)).findings.count == 1)
    }

    @Test func `a download that did not end is found, and one that ended twice`() {
        #expect(report { $0.counts.outcomes["finished", default: 0] -= 1 }.findings.count == 1)
        #expect(report { $0.counts.outcomes["finished", default: 0] += 1 }.findings.count == 1)
    }

    @Test func `a handle that outlives its download is found`() {
        #expect(report { $0.tenths[4].handles = 1 }.findings.count == 1)
    }

    @Test func `memory that grows is found, in a run that is long enough to tell`() {
        func grow(_ result: inout SoakSession.Result) {
            for tenth in 0..<10 { result.tenths[tenth].process.residentBytes += Int64(tenth) * 3 << 20 }
        }
        #expect(report(change: grow).findings.count == 1)
        #expect(report(downloads: 9999, change: grow).findings == [])
    }

    @Test func `what was wrong with downloads and files is found, and what the runtime said`() {
        let report = report { result in
            result.counts.wrong = ["one", "two"]
            result.counts.wrongCount = 5
            result.findings = ["a file"]
        }
        #expect(report.findings == ["one", "two", "3 more like these", "a file"])
        #expect(report.adding(errorOutput: "MISUSE: leaked\n").findings.last == "on standard error: MISUSE: leaked")
        #expect(report.adding(errorOutput: "").findings == report.findings)
    }

    @Test func `the table shows every figure of a tenth, and every finding`() {
        let table = report { $0.findings = ["a file"] }.table
        #expect(table.contains("100000 downloads over http-client, seed 1: 50.0 s, 2000 a second"))
        #expect(table.contains("       10000         5.0        50.0          16           6           0"))
        #expect(table.hasSuffix("FOUND a file"))
        #expect(report().table.hasSuffix("Nothing was left behind."))
    }
}
