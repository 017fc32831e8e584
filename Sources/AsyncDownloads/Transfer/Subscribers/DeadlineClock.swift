/// The remaining time of one subscriber for its whole download, not counting pauses.
struct DeadlineClock: Sendable {
    /// The maximum duration of the download.
    let limit: Duration
    private var used = Duration.zero
    /// The time from which the current period counts; nil during a pause.
    private var since: Duration?

    init(limit: Duration) {
        self.limit = limit
    }

    /// Starts counting time.
    mutating func start(at now: Duration) {
        if since == nil { since = now }
    }

    /// Stops counting time.
    mutating func stop(at now: Duration) {
        guard let since else { return }
        used += now - since
        self.since = nil
    }

    /// Returns the remaining time, negative after the deadline; nil during a pause.
    func timeLeft(at now: Duration) -> Duration? {
        since.map { limit - used - (now - $0) }
    }

    /// The error of a subscriber whose deadline has passed.
    var error: DownloadError { DownloadError(.deadlineExceeded, "not finished within \(limit)") }
}
