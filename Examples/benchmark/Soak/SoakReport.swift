internal import Foundation

/// The results of a run.
struct SoakReport: Sendable, Codable {
    let downloads: Int
    let seed: UInt64
    let engine: Engine
    /// The duration of the downloads.
    let seconds: Double
    /// The number of downloads by their outcomes.
    let outcomes: [String: Int]
    /// The number of received events by their names.
    let events: [String: Int]
    /// The number of downloads that joined a running transfer.
    let joined: Int
    /// The process before and after the session, without objects of the library.
    let before: ProcessSample
    let after: ProcessSample
    let tenths: [SoakSession.Tenth]
    let memory: Flatness
    let finishedFiles: Int
    /// The number of unfinished downloads that were on disk after the shutdown.
    let keptFiles: Int
    /// The descriptions of all errors and leaks.
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
        self.before = before
        self.after = after
        tenths = result.tenths
        memory = Flatness(result.tenths.map(\.process.residentBytes))
        finishedFiles = result.finishedCount
        keptFiles = result.keptCount
        findings = result.counts.findings + result.findings
        findings += leaks
    }

    /// The descriptions of the leaks that follow from the measurements.
    private var leaks: [String] {
        var leaks: [String] = []
        let ended = outcomes.values.reduce(0, +)
        if ended != downloads { leaks.append("\(ended) of \(downloads) downloads ended") }
        if after.descriptors > before.descriptors {
            leaks.append("\(after.descriptors) descriptors are open, but \(before.descriptors) were before the run")
        }
        if after.threads > before.threads {
            leaks.append("\(after.threads) threads exist, but \(before.threads) did before the run")
        }
        if let alive = tenths.map(\.handles).max(), alive > 0 {
            leaks.append("\(alive) downloads were in memory after they had ended")
        }
        if downloads >= Soak.enoughForMemory, !memory.isFlat {
            leaks.append("memory grew by \(memory.late - memory.early) bytes")
        }
        return leaks
    }

    /// Returns the report with a finding for each line, at most 20, that was written to standard error during the run.
    func adding(errorOutput: String) -> Self {
        var report = self
        report.findings += errorOutput.split(separator: "\n").prefix(20).map { "on standard error: \($0)" }
        return report
    }

    /// The report as one JSON object on one line.
    var json: String {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys]
            return String(decoding: try encoder.encode(self), as: UTF8.self)
        }
    }
}
