/// The time that is left to one subscriber for its whole download; time in which it is paused does not count.
struct DeadlineClock: Sendable {
    /// How long the download may take.
    let limit: Duration
    private var used = Duration.zero
    /// Since when time counts; nil in a pause.
    private var since: Duration?

    init(limit: Duration) {
        self.limit = limit
    }

    /// Lets time count from `now` on.
    mutating func start(at now: Duration) {
        if since == nil { since = now }
    }

    /// Lets time no longer count.
    mutating func stop(at now: Duration) {
        guard let since else { return }
        used += now - since
        self.since = nil
    }

    /// The time that is left, negative after the deadline; nil in a pause.
    func timeLeft(at now: Duration) -> Duration? {
        since.map { limit - used - (now - $0) }
    }

    /// The error that a subscriber gets whose time is up.
    var error: DownloadError { DownloadError(.deadlineExceeded, "not finished within \(limit)") }
}
