/// The time in which no connection with an origin can be established.
///
/// One request at a time is sent, after delays that grow; all other transfers wait for its end. If the origin has answered
/// before, they wait as long as the downloader is patient. Otherwise, each transfer waits for as many attempts as its retry
/// policy permits, whichever transfer makes them.
struct Outage: Sendable {
    /// What a failed attempt to connect leads to.
    enum Step: Sendable, Hashable {
        /// The next attempt follows after the delay. The number is that of the retry, counted from 1.
        case retry(number: Int, delay: Duration)
        /// No attempt follows, and the transfer fails.
        case end
    }

    /// The shortest and the longest delay between attempts to connect to an origin that has answered before.
    private static let (firstDelay, longestDelay) = (Duration.milliseconds(100), Duration.seconds(5))
    /// For how long after the time of the next attempt a failure belongs to the same outage.
    ///
    /// A transfer that waits would have made the attempt.
    private static let memory = Duration.seconds(10)

    /// By which factor the patience is larger while the origin serves another transfer, and may accept no second one.
    private static let servingFactor = 10

    private let start: Duration
    /// The number of the last request before the last failure was known; the failures of earlier ones don't count.
    private var lastNumber = 0
    /// The number of failed attempts.
    private(set) var failureCount = 0
    /// The time of the next attempt.
    private(set) var attemptTime: Duration

    init(at now: Duration) {
        (start, attemptTime) = (now, now)
    }

    /// Whether a further failure belongs to another outage.
    func isPast(at now: Duration) -> Bool { now - attemptTime > Self.memory }

    /// Returns whether a request was sent before the last failure was known.
    func isLate(_ number: Int) -> Bool { number <= lastNumber }

    /// Returns what follows for a transfer from the failures so far.
    ///
    /// - Parameter retryLimit: The number of retries that the policy of the transfer permits.
    func step(retryLimit: Int, _ context: OriginState.Context, hasAnswered: Bool) -> Step {
        let isOver = hasAnswered ? hasLasted(context) : failureCount > retryLimit
        if isOver || retryLimit <= 0 { return .end }
        return .retry(number: failureCount, delay: max(.zero, attemptTime - context.now))
    }

    /// Returns whether the downloader is patient no more with an origin that has answered before.
    func hasLasted(_ context: OriginState.Context) -> Bool {
        context.now >= start + context.patience * (context.isServing ? Self.servingFactor : 1)
    }

    /// Records that an attempt has failed.
    mutating func failed(_ policy: RetryPolicy, _ context: OriginState.Context, hasAnswered: Bool) {
        lastNumber = context.lastNumber
        // The attempt of a transfer that doesn't wait is one of its own.
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
        // A transfer that comes later makes the next attempt at once.
        attemptTime = isOver ? context.now : context.now + delay
    }
}
