#if ServerStack
/// What a run has come to.
struct Tally: Sendable, Hashable {
    /// How many files were asked for.
    var total: Int
    var finished = 0
    var failed = 0
    /// Downloads that were stopped when some of their bytes were there.
    var paused = 0
    /// Bytes that an interrupted run had received and could not save.
    var lost: Int64 = 0
    /// The lengths of the finished files.
    var bytes: Int64 = 0
    /// Body bytes that crossed the network, for whatever became of them.
    var fetched: Int64 = 0
    var duration = Duration.zero

    init(total: Int) {
        self.total = total
    }

    /// Whether files are missing that did not fail.
    var isInterrupted: Bool { finished + failed < total }

    /// What an interrupted run leaves to the next one.
    var remainder: String {
        (lost > 0 ? "\(Units.bytes(lost)) could not be kept: " : "everything is kept: ")
            + "\(finished) of \(Units.count(total, "file")) finished, \(paused) half-way, "
            + "\(total - finished - failed - paused) waiting" + (failed > 0 ? ", \(failed) failed" : "")
    }
}
#endif
