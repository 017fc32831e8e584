/// The results of a run.
struct Tally: Sendable, Hashable {
    /// The number of requested files.
    var total: Int
    var finished = 0
    /// The number of finished files that existed already and were used again.
    var skipped = 0
    var failed = 0
    /// The number of downloads that were stopped after they had received some of their bytes.
    var paused = 0
    /// The number of bytes that an interrupted run received but could not save.
    var lost: Int64 = 0
    /// The total length of the finished files.
    var bytes: Int64 = 0
    /// The number of body bytes that were received from the network, whether or not they were used.
    var fetched: Int64 = 0
    var duration = Duration.zero

    init(total: Int) {
        self.total = total
    }

    /// Whether some downloads have neither finished nor failed.
    var isInterrupted: Bool { finished + failed < total }

    /// A description of what an interrupted run has finished, kept, and lost.
    var remainder: String {
        (lost > 0 ? "\(Units.bytes(lost)) could not be saved: " : "all received bytes are saved: ")
            + "\(finished) of \(Units.count(total, "file")) finished, \(paused) partially downloaded, "
            + "\(total - finished - failed - paused) waiting" + (failed > 0 ? ", \(failed) failed" : "")
    }
}
