/// A period in which no connection with an origin can be established, or each one is closed before a response.
///
/// One attempt at a time is made, after increasing delays; all other transfers wait for its result. If the origin has
/// answered before, they wait for the downloader's patience time. Otherwise, each transfer waits for the number of
/// attempts that its retry policy permits; attempts of other transfers count as well.
struct Outage: Sendable {
    /// The consequence of a failed attempt to connect.
    enum Step: Sendable, Hashable {
        /// The next attempt follows after the delay. The number counts the retries from 1.
        case retry(number: Int, delay: Duration)
        /// No attempt follows, and the transfer fails.
        case end
    }

    /// The shortest and the longest delay between attempts to connect to an origin that has answered before.
    private static let (firstDelay, longestDelay) = (Duration.milliseconds(100), Duration.seconds(5))
    /// The time after the next attempt is due in which a failure still belongs to the same outage.
    ///
    /// A transfer that waits with a permit makes the attempt by then.
    static let memory = Duration.seconds(10)

    /// The time from which the patience is counted.
    private var start: Duration
    /// The number of the last request before the last failure was known; failures of earlier requests don't count.
    private var lastNumber = 0
    /// The number of failed attempts.
    private(set) var failureCount = 0
    /// The time of the next attempt.
    private(set) var attemptTime: Duration

    init(at now: Duration) {
        (start, attemptTime) = (now, now)
    }

    /// Returns whether a failure now belongs to a new outage.
    func isPast(at now: Duration) -> Bool { now - attemptTime > Self.memory }

    /// Returns whether a request was sent before the last failure was known.
    func isLate(_ number: Int) -> Bool { number <= lastNumber }

    /// Returns the next step of a transfer after the failures so far.
    ///
    /// - Parameter retryLimit: The number of retries that the policy of the transfer permits.
    func step(retryLimit: Int, _ context: OriginState.Context, hasAnswered: Bool) -> Step {
        let isOver = hasAnswered ? hasLasted(context) : failureCount > retryLimit
        if isOver || retryLimit <= 0 { return .end }
        return .retry(number: failureCount, delay: max(.zero, attemptTime - context.now))
    }

    /// Returns whether the patience with an origin that has answered before has ended.
    func hasLasted(_ context: OriginState.Context) -> Bool {
        context.now >= start + context.patience
    }

    /// Records that no attempt was made for a long time although one was due.
    mutating func restartPatience(at now: Duration) { start = now }

    /// Records that an attempt has failed.
    mutating func failed(_ policy: RetryPolicy, _ context: OriginState.Context, hasAnswered: Bool) {
        lastNumber = context.lastNumber
        // An origin that serves another transfer may not accept a second connection.
        if context.isServing { start = context.now }
        // After the first failure, attempts of transfers that don't wait are not counted.
        guard failureCount == 0 || policy.maximumRetries > 0 && context.now >= attemptTime else { return }
        failureCount += 1
        var delay = policy.delay(beforeRetry: failureCount, jitter: context.jitter, retryAfter: nil)
        if hasAnswered {
            let least = min(Self.firstDelay * (1 << min(failureCount - 1, 10)), Self.longestDelay)
            delay = min(max(delay, least), Self.longestDelay)
            let end = start + context.patience
            if context.now < end { delay = min(delay, end - context.now) }
        }
        let isOver = step(retryLimit: max(1, policy.maximumRetries), context, hasAnswered: hasAnswered) == .end
        // A transfer that arrives later makes the next attempt immediately.
        attemptTime = isOver ? context.now : context.now + delay
    }
}
