/// The results of a run.
struct Tally: Sendable, Hashable {
    /// The number of requested files that are known so far.
    var total: Int
    /// Whether ``total`` is the number of all files.
    var isTotalKnown = true
    var finished = 0
    /// The number of finished files that existed already and were used again.
    var skipped = 0
    var failed = 0
    /// The number of failed files for which the same command may succeed later.
    var passing = 0
    /// The number of downloads that were stopped after they had received some of their bytes.
    var paused = 0
    /// The number of bytes that an interrupted run received but could not save.
    var lost: Int64 = 0
    /// The total length of the finished files.
    var bytes: Int64 = 0
    /// The number of body bytes that were received from the network, including bytes that were not used.
    var fetched: Int64 = 0
    var duration = Duration.zero
    /// Whether the directory was replaced in one step; nil if that wasn't requested.
    var isPublished: Bool?

    init(total: Int) {
        self.total = total
    }

    /// Whether some downloads have neither finished nor failed.
    var isInterrupted: Bool { !isTotalKnown || finished + failed < total }

    /// A description of what an interrupted run has finished, kept, and lost.
    var remainder: String {
        let files = isTotalKnown ? "\(finished) of \(Units.count(total, "file"))" : Units.count(finished, "file")
        let waiting = total - finished - failed - paused
        return (lost > 0 ? "\(Units.bytes(lost)) could not be saved: " : "all received bytes are saved: ")
            + "\(files) finished, \(paused) partially downloaded, \(isTotalKnown ? "" : "at least ")\(waiting) waiting"
            + (failed > 0 ? ", \(failed) failed" : "")
    }

    /// Returns the summary line at the end of a run.
    ///
    /// - Parameter keepsFiles: Whether existing files were kept regardless of their contents.
    func summary(keepsFiles: Bool) -> String {
        let files = isTotalKnown ? "\(finished) of \(Units.count(total, "file"))" : Units.count(finished, "file")
        var parts = ["\(files) finished"]
        if skipped > 0 { parts.append("\(skipped) \(keepsFiles ? "existing" : "unchanged")") }
        if failed > 0 { parts.append("\(failed) failed") }
        parts.append("\(Units.bytes(bytes)) in \(Units.seconds(duration)), \(Units.bytes(fetched)) fetched")
        return parts.joined(separator: ", ")
    }
}
