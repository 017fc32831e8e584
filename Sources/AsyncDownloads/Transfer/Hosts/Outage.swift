/// The time in which no connection with an origin can be established.
///
/// One request at a time is sent, after delays that grow; all other transfers wait for its end. If the origin has answered
/// before, they wait as long as the downloader is patient. Otherwise, the retry policy decides, once for all transfers.
struct Outage: Sendable {
    /// What a failed attempt to connect leads to.
    enum Step: Sendable, Hashable {
        /// The next attempt follows after the delay. The number is that of the retry, counted from 1.
        case retry(number: Int, delay: Duration)
        /// No attempt follows; the transfers fail that wait for the origin.
        case end
    }

    /// The longest delay between attempts to connect to an origin that has answered before.
    private static let longestDelay = Duration.seconds(5)
    /// For how long after the last failure a further one belongs to the outage whose transfers have failed.
    private static let memory = Duration.seconds(10)

    private let start: Duration
    /// The number of the last request before the last failure was known; the failures of earlier ones don't count.
    private var lastNumber: Int
    /// The number of failed attempts.
    private(set) var failureCount = 0
    private var failureTime: Duration
    /// The time of the next attempt.
    private(set) var attemptTime: Duration
    /// Whether the transfers that waited have failed.
    private var hasEnded = false

    init(at now: Duration) {
        (start, lastNumber, failureTime, attemptTime) = (now, 0, now, now)
    }

    /// Whether a further failure belongs to another outage, because transfers have failed, and nothing was tried since.
    func isPast(at now: Duration) -> Bool { hasEnded && now - failureTime > Self.memory }

    /// Returns whether a request was sent before the last failure was known.
    func isLate(_ number: Int) -> Bool { number <= lastNumber }

    /// Returns what follows from a failure that was already counted.
    func step(at now: Duration) -> Step {
        hasEnded ? .end : .retry(number: failureCount, delay: max(.zero, attemptTime - now))
    }

    /// Records that an attempt has failed.
    ///
    /// - Parameters:
    ///   - lastNumber: The number of the last request that was sent to the host.
    ///   - patience: For how long transfers wait for the origin, if it has answered before.
    ///   - isServing: Whether a transfer receives from the origin, which accepts no more connections then.
    ///   - jitter: A random number from 0 to 1.
    mutating func failed(
        _ policy: RetryPolicy, lastNumber: Int, patience: Duration?, isServing: Bool, jitter: Double, at now: Duration
    ) -> Step {
        self.lastNumber = lastNumber
        failureCount += 1
        failureTime = now
        var delay = policy.delay(beforeRetry: failureCount, jitter: jitter, retryAfter: nil)
        if let patience {
            delay = min(delay, Self.longestDelay)
            let end = start + patience
            if now < end { delay = min(delay, end - now) } else { hasEnded = !isServing }
        } else {
            hasEnded = failureCount > policy.maximumRetries
        }
        // A transfer without retries doesn't decide about the others.
        if policy.maximumRetries == 0 { hasEnded = false }
        attemptTime = hasEnded ? now : now + delay
        return policy.maximumRetries == 0 ? .end : step(at: now)
    }
}
