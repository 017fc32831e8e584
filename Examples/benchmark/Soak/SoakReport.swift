#if ServerStack
internal import Foundation

/// What a run has shown.
struct SoakReport: Sendable, Codable {
    let downloads: Int
    let seed: UInt64
    let engine: Engine
    /// How long the downloads took.
    let seconds: Double
    /// How often each end came.
    let outcomes: [String: Int]
    /// How often each event was heard.
    let events: [String: Int]
    /// How many downloads joined a transfer that was there.
    let joined: Int
    /// The process before and after, with nothing of the library alive.
    let before: ProcessSample
    let after: ProcessSample
    let tenths: [SoakSession.Tenth]
    let memory: Flatness
    let finishedFiles: Int
    /// Unfinished downloads that were there after the shutdown.
    let keptFiles: Int
    /// Everything that is not as it should be, in words.
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

    /// What the figures say that should not be.
    private var leaks: [String] {
        var leaks: [String] = []
        let ended = outcomes.values.reduce(0, +)
        if ended != downloads { leaks.append("\(ended) of \(downloads) downloads ended") }
        if after.descriptors > before.descriptors {
            leaks.append("\(after.descriptors) descriptors are open, \(before.descriptors) were before")
        }
        if after.threads > before.threads {
            leaks.append("\(after.threads) threads are left, \(before.threads) were before")
        }
        if let alive = tenths.map(\.handles).max(), alive > 0 {
            leaks.append("\(alive) handles were alive although their downloads had ended")
        }
        if downloads >= Soak.enoughForMemory, !memory.isFlat {
            leaks.append("memory grew by \(memory.late - memory.early) bytes")
        }
        return leaks
    }

    /// The same with what was written to standard error meanwhile, which should be nothing.
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
#endif
