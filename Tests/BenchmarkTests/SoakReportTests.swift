import TestSupport
import Testing

@testable import benchmark

/// Tests of the findings that a report derives from the measurements of a run.
@Suite(.endsWhenHung) struct SoakReportTests {
    private static let process = ProcessSample(residentBytes: 50 << 20, descriptors: 16, threads: 6)

    /// Returns the report of a run without leaks and errors except those that `change` adds.
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
            Soak(downloads: downloads, seed: 1, engine: .preferred), before: Self.process, after: after, result: result
        )
    }

    private func process(descriptors: Int = 16, threads: Int = 6) -> ProcessSample {
        ProcessSample(residentBytes: 50 << 20, descriptors: descriptors, threads: threads)
    }

    @Test func `a run without leaks and errors has no findings`() {
        #expect(report().findings == [])
        #expect(report(after: process(descriptors: 15, threads: 5)).findings == [])
        #expect(report().downloadsPerSecond == 2000)
    }

    @Test func `one more descriptor or thread than before is a finding`() {
        #expect(report(after: process(descriptors: 17)).findings.count == 1)
        #expect(report(after: process(threads: 7)).findings.count == 1)
    }

    @Test func `a download that did not end, or ended twice, is a finding`() {
        #expect(report { $0.counts.outcomes["finished", default: 0] -= 1 }.findings.count == 1)
        #expect(report { $0.counts.outcomes["finished", default: 0] += 1 }.findings.count == 1)
    }

    @Test func `a handle that outlives its download is a finding`() {
        #expect(report { $0.tenths[4].handles = 1 }.findings.count == 1)
    }

    @Test func `growing memory is a finding in a long run, and ignored in a short one`() {
        func grow(_ result: inout SoakSession.Result) {
            for tenth in 0..<10 { result.tenths[tenth].process.residentBytes += Int64(tenth) * 3 << 20 }
        }
        #expect(report(change: grow).findings.count == 1)
        #expect(report(downloads: 9999, change: grow).findings == [])
    }

    @Test func `errors of downloads, wrong files, and lines on standard error are findings`() {
        let report = report { result in
            result.counts.wrong = ["one", "two"]
            result.counts.wrongCount = 5
            result.findings = ["a file"]
        }
        #expect(report.findings == ["one", "two", "3 more like these", "a file"])
        #expect(report.adding(errorOutput: "MISUSE: leaked\n").findings.last == "on standard error: MISUSE: leaked")
        #expect(report.adding(errorOutput: "").findings == report.findings)
    }

    @Test func `the table shows the measurements of each tenth, and each finding`() {
        let table = report { $0.findings = ["a file"] }.table
        #expect(table.contains("100000 downloads over nio, seed 1: 50.0 s, 2000 per second"))
        #expect(table.contains("       10000         5.0        50.0          16           6           0"))
        #expect(table.hasSuffix("FOUND a file"))
        #expect(report().table.hasSuffix("No leaks or errors were found."))
    }
}
