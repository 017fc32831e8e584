/// The number of failures and restarts that a transfer has left.
///
/// The encoded form contains only the values that last longer than an exchange.
struct RetryBudget: Sendable, Hashable {
    /// An attempt that follows a failure.
    struct Attempt: Sendable {
        /// The number of the retry, counted from 1.
        let number: Int
        let delay: Duration
        /// The upper bound from which the random delay was drawn.
        let longestDelay: Duration
        /// Whether the transfer waits for its turn at the origin instead of for a delay.
        var awaitsOrigin = false
        /// Whether the failure was counted; if not, the number is that of the last attempt.
        var isCounted = true

        fileprivate static func awaitingOrigin(_ number: Int, isCounted: Bool) -> Self {
            Self(number: number, delay: .zero, longestDelay: .zero, awaitsOrigin: true, isCounted: isCounted)
        }
    }

    /// A response, or a failure without one, that is assumed to concern all requests to the origin.
    private enum OriginFailure: Sendable {
        /// The request was redirected from another origin.
        case redirected
        case counted
        /// The response or failure came before ``countStart``.
        case uncounted
    }

    /// The delay in which other transfers close connections for this one; the transfer keeps its permit meanwhile.
    private static let roomDelay = Duration.milliseconds(250)

    /// The number of refusals in a row that aren't counted as failures.
    ///
    /// The limit ends a download that a server refuses permanently.
    static let maximumCoolDownCount = 10

    private(set) var retriesUsed = 0
    /// The total number of failures, regardless of bytes received in between.
    private(set) var failureCount = 0
    private var coolDownCount = 0
    /// Whether other transfers close connections to the host for the present request.
    private var hasRoom = false
    /// Whether connections that other transfers closed have led to an attempt since bytes last arrived.
    private var hasUsedRoom = false
    /// The outcome of the present request, if it is assumed to concern all requests to the origin.
    private var originFailure: OriginFailure?
    /// The end of the delay instead of which the transfer last awaited the origin; such outcomes aren't counted until
    /// then.
    private var countStart = Duration.zero
    /// The largest number of bytes that the transfer ever had; bytes of a replaced object may be excluded.
    private var mostReceived: Int64 = 0
    private var replacements = RecentCount()
    private var forcedRestarts = RecentCount()
    private var excesses = RecentCount()
    private var jitter: SplitMix64

    init(seed: UInt64, retriesUsed: Int = 0) {
        jitter = SplitMix64(seed: seed)
        self.retriesUsed = retriesUsed
    }

    /// Records the number of bytes that were found on disk or in memory, and need not be received again.
    mutating func found(_ count: Int64) {
        mostReceived = max(mostReceived, count)
    }

    /// Records the number of bytes that the transfer has kept, and returns whether it is larger than ever before.
    ///
    /// Rule 37: an attempt that received new bytes doesn't count as a failure.
    @discardableResult
    mutating func kept(_ count: Int64) -> Bool {
        guard count > mostReceived else { return false }
        mostReceived = count
        (retriesUsed, coolDownCount, countStart) = (0, 0, .zero)
        hasUsedRoom = false
        return true
    }

    /// Records that another object replaces the present one, whose bytes no longer count.
    ///
    /// This applies at most once a day, because a transfer whose object keeps changing must end.
    mutating func replaced(at now: Duration) {
        if replacements.value(at: now) == 0 { mostReceived = 0 }
        replacements.increment(at: now)
    }

    /// Refills the budget, because a caller has requested the transfer again.
    mutating func refill(found count: Int64) {
        var fresh = Self(seed: 0)
        (fresh.jitter, fresh.mostReceived) = (jitter, count)
        self = fresh
    }

    /// Records that bytes of an earlier restart were found after all.
    mutating func restartsUndone() {
        forcedRestarts = RecentCount()
    }

    /// Records that other transfers close connections to the host, so that the next refusal isn't a failure.
    ///
    /// This applies once until new bytes are received.
    mutating func extrasWereReleased() {
        hasRoom = true
    }

    /// Records that the response to the present request, or its failure, is assumed to concern all requests to the
    /// origin.
    ///
    /// - Parameter isDirect: Whether the request was not redirected from another origin.
    mutating func originFailed(isDirect: Bool, at now: Duration) {
        originFailure = !isDirect ? .redirected : now < countStart ? .uncounted : .counted
        if originFailure == .counted { countStart = now }
    }

    /// Records that a request is sent, whose refusal may have another reason than the last one.
    mutating func requestSent() {
        (hasRoom, originFailure) = (false, nil)
    }

    /// Counts a failure, and returns the next attempt; nil if the failure is final.
    ///
    /// - Parameter limit: The number of failures in total after which no attempt follows; nil for no limit.
    mutating func nextAttempt(
        after error: DownloadError, policy: RetryPolicy, received: Int64, limit: Int? = nil
    ) -> Attempt? {
        kept(received)
        defer { (hasRoom, originFailure) = (false, nil) }
        guard countFailure(limit: limit) else { return nil }
        if hasRoom, !hasUsedRoom, error.isRetryable, policy.respected(error.retryAfter) == nil {
            hasUsedRoom = true
            coolDownCount += 1
            return Attempt(
                number: retriesUsed + coolDownCount, delay: Self.roomDelay, longestDelay: Self.roomDelay)
        }
        if let coolDown = coolDown(after: error, policy) {
            let isFinal = policy.endsWhenRefused && received < RetryPolicy.bytesWorth(coolDown.delay)
            return isFinal ? nil : coolDown
        }
        guard error.isRetryable, retriesUsed < policy.maximumRetries else { return nil }
        retriesUsed += 1
        return Attempt(
            number: retriesUsed + coolDownCount,
            delay: policy.delay(
                beforeRetry: retriesUsed, jitter: jitter.nextFraction(), retryAfter: error.retryAfter),
            longestDelay: policy.delay(beforeRetry: retriesUsed, jitter: 1, retryAfter: error.retryAfter))
    }

    /// Counts a failure that may have an attempt after it, and returns whether the limit in total permits one.
    mutating func countFailure(limit: Int?) -> Bool {
        failureCount += 1
        return limit.map { failureCount <= $0 } ?? true
    }

    /// Returns the attempt after a refusal, or a failure of the origin, that isn't counted as a failure of the transfer.
    ///
    /// An attempt that awaits the origin may follow within a fraction of a second. Therefore, the refusals in the time of
    /// the delay that it replaces count once.
    private mutating func coolDown(after error: DownloadError, _ policy: RetryPolicy) -> Attempt? {
        guard error.statusCode != nil || error.isRetryable, policy.maximumRetries > 0 else { return nil }
        let stated = policy.respected(error.retryAfter)
        var failure = policy.endsWhenRefused ? nil : originFailure
        // A site that redirects to an origin without responses could cause many requests.
        if error.statusCode == nil, failure == .redirected { failure = nil }
        if failure == .uncounted, stated == nil {
            return .awaitingOrigin(retriesUsed + coolDownCount, isCounted: false)
        }
        // A 429 concerns the number of requests, even if it states no time.
        let asksForFewerRequests =
            error.statusCode.map { StatusCode($0).asksForFewerRequests && (stated != nil || $0 == 429) } ?? false
        guard coolDownCount < Self.maximumCoolDownCount, failure != nil || asksForFewerRequests else { return nil }
        coolDownCount += 1
        let number = retriesUsed + coolDownCount
        if let stated { return Attempt(number: number, delay: stated, longestDelay: stated) }
        let delay = policy.delay(beforeRetry: coolDownCount, jitter: jitter.nextFraction(), retryAfter: nil)
        // A site that redirects to a new origin each time could cause any number of requests without delays.
        if failure == .counted {
            countStart += delay
            return .awaitingOrigin(number, isCounted: true)
        }
        let longest = policy.delay(beforeRetry: coolDownCount, jitter: 1, retryAfter: nil)
        return Attempt(number: number, delay: delay, longestDelay: longest)
    }

    /// Counts a restart that a response forces, and returns how many there were before.
    ///
    /// Rule 27: one restart means that the resource has changed. Two mean that it cannot be downloaded or, with bounded
    /// requests, that it cannot be downloaded in parts.
    ///
    /// - Returns: nil if the restart would be one too many.
    mutating func forceRestart(isBounded: Bool, at now: Duration) -> Int? {
        let before = forcedRestarts.value(at: now)
        guard before < 1 || isBounded else { return nil }
        forcedRestarts.increment(at: now)
        return before
    }

    /// Counts a response with more bytes than its head announced, and returns whether it was the first one.
    mutating func countExcess(at now: Duration) -> Bool {
        defer { excesses.increment(at: now) }
        return excesses.value(at: now) == 0
    }

    /// A number of events that is forgotten after a day, so that a transfer of weeks is not judged by its first days.
    private struct RecentCount: Sendable, Hashable {
        private static let memory = Duration.seconds(86_400)

        private var count = 0
        private var last = Duration.zero

        func value(at now: Duration) -> Int { now - last < Self.memory ? count : 0 }

        mutating func increment(at now: Duration) {
            (count, last) = (value(at: now) + 1, now)
        }
    }
}

extension RetryBudget: Codable {
    private enum CodingKeys: String, CodingKey {
        case retriesUsed = "retriesUsed"
        case failureCount = "failureCount"
        case coolDownCount = "coolDownCount"
        case mostReceived = "mostReceived"
        case jitter = "jitter"
    }

    /// Creates a budget from its recorded form, where a missing value is zero.
    init(from decoder: any Decoder) throws {
        self.init(seed: 0)
        let container = try decoder.container(keyedBy: CodingKeys.self)
        try container.read(.retriesUsed, into: &retriesUsed)
        try container.read(.failureCount, into: &failureCount)
        try container.read(.coolDownCount, into: &coolDownCount)
        try container.read(.mostReceived, into: &mostReceived)
        try container.read(.jitter, into: &jitter)
    }
}
