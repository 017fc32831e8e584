/// A connection to the system's session of a generation, or the wait for the next one after the session has ended.
struct DaemonConnection: Sendable {
    /// The time after which the end of a session has nothing to do with that of the session before.
    private static let stableTime = Duration.seconds(60)
    /// The delays before sessions that end soon.
    private static let delays = RetryPolicy(maximumDelay: .seconds(600))

    /// The number of the connection of its generation, by which a late report about an earlier one is recognized.
    let number: Int
    private(set) var daemon: (any TransferDaemon)?
    private let madeAt: Duration
    /// Whether the session has listed its tasks or delivered an event, so that this process has it.
    private var isProven = false
    /// The tasks that were handed over before that.
    private var started: Set<DaemonTaskName> = []
    /// The number of sessions in a row that have ended soon.
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

    /// Whether another process has the session.
    private var isInUse: Bool { error?.code == .sessionInUse }

    /// Returns whether the next connection may be made now.
    ///
    /// If another process has the session, the next one is made only while the user has this app in front.
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
        // A service that was restarted has the session again at once.
        let isFirst = failureCount == 1 && error == nil
        let delay = isFirst ? .zero : Self.delays.delay(beforeRetry: failureCount, jitter: 1, retryAfter: nil)
        retryAt = now + delay
        return delay
    }

    /// Returns the tasks that the session can't have, because another process has had it all the time.
    mutating func takeRefused() -> (tasks: Set<DaemonTaskName>, error: DownloadError)? {
        guard let error, isInUse, !isProven else { return nil }
        defer { started = [] }
        return (started, error)
    }
}
