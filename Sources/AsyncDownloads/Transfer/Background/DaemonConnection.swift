/// A connection to the system's session of a generation, or the wait for the next connection after the session's end.
struct DaemonConnection: Sendable {
    /// The lifetime after which the end of a session isn't related to the end of the previous session.
    private static let stableTime = Duration.seconds(60)
    /// The delays after sessions with a short lifetime.
    private static let delays = RetryPolicy(maximumDelay: .seconds(600))

    /// The number of the connection within its generation, which identifies late reports about earlier connections.
    let number: Int
    private(set) var daemon: (any TransferDaemon)?
    private let madeAt: Duration
    /// Whether the session has listed its tasks or delivered an event, which proves that it belongs to this process.
    private var isProven = false
    /// The tasks that were handed over before that proof.
    private var started: Set<DaemonTaskName> = []
    /// The number of consecutive sessions with a short lifetime.
    private var failureCount: Int
    private(set) var error: DownloadError?
    private var retryAt = Duration.zero
    /// The timer of the next connection.
    var timer: (any ScheduledAction)?

    /// Creates the connection that follows `former`, or the first one.
    init(_ daemon: any TransferDaemon, after former: Self?, at now: Duration) {
        self.daemon = daemon
        number = (former?.number ?? 0) + 1
        failureCount = former?.failureCount ?? 0
        madeAt = now
    }

    /// Whether tasks may be handed over: after the end of a session, the next one has to list its tasks first.
    var isUsable: Bool { daemon != nil && (isProven || number == 1) }

    /// Whether another process uses the session.
    private var isInUse: Bool { error?.code == .sessionInUse }

    /// Returns whether the next connection may be made now.
    ///
    /// If another process uses the session, the next connection is made only while this app is in the foreground.
    func mayReconnect(at now: Duration, isInForeground: Bool) -> Bool {
        daemon == nil && now >= retryAt && (isInForeground || !isInUse)
    }

    mutating func willStart(_ name: DaemonTaskName) {
        if !isProven { started.insert(name) }
    }

    mutating func prove() {
        isProven = true
        started = []
    }

    /// Records the end of the session, and returns the delay before the next connection.
    mutating func end(_ error: DownloadError?, at now: Duration) -> Duration {
        if daemon != nil {
            failureCount = now - madeAt < Self.stableTime ? failureCount + 1 : 1
            daemon = nil
        }
        self.error = error
        // A transfer service that was restarted accepts the session again immediately.
        let isFirst = failureCount == 1 && error == nil
        let delay = isFirst ? .zero : Self.delays.delay(beforeRetry: failureCount, jitter: 1, retryAfter: nil)
        retryAt = now + delay
        return delay
    }

    /// Returns the tasks that the session can't have received, because another process has been using it all the time.
    mutating func takeRefused() -> (tasks: Set<DaemonTaskName>, error: DownloadError)? {
        guard let error, isInUse, !isProven else { return nil }
        defer { started = [] }
        return (started, error)
    }
}
