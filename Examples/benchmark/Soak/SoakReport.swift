internal import Foundation

/// What a run has shown.
struct SoakReport: Sendable, Codable {
    let downloads: Int
    let seed: UInt64
    let engine: Engine
    let seconds: Double
    /// How often each end came.
    let outcomes: [String: Int]
    /// How often each event was heard.
    let events: [String: Int]
    /// How many downloads joined a transfer.
    let joined: Int
    let tenths: [SoakSession.Tenth]
    let before: ProcessSample
    let after: ProcessSample
    let finishedFiles: Int
    let keptFiles: Int
    /// Everything that was not as it should be.
    private(set) var findings: [String]

    var downloadsPerSecond: Double { Double(downloads) / seconds }

    init(_ soak: Soak, before: ProcessSample, after: ProcessSample, result: SoakSession.Result) {
        downloads = soak.downloads
        seed = soak.seed
        engine = soak.engine
        seconds = result.duration / .seconds(1)
        outcomes = result.counts.outcomes
        events = result.counts.events
        joined = result.counts.joined
        tenths = result.tenths
        self.before = before
        self.after = after
        finishedFiles = result.finishedCount
        keptFiles = result.keptCount
        findings = result.findings + result.counts.wrong
    }

    /// The same with what was written to standard error meanwhile, which should be nothing.
    func adding(errorOutput: String) -> Self {
        var report = self
        report.findings += errorOutput.split(separator: "\n").prefix(20).map { "on standard error: \($0)" }
        return report
    }

    var json: String {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys]
            return String(decoding: try encoder.encode(self), as: UTF8.self)
        }
    }

    var table: String { (try? json) ?? "" }
}
