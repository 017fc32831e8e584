/// The limits of one subscriber's request, with the downloader's defaults filled in.
struct SubscriberTerms: Sendable {
    var deadline: Duration?
    var idleTimeout: Duration?
    var retryPolicy = RetryPolicy.default
}

/// The combined demands of a transfer's subscribers: the longest timeouts and the largest limits.
///
/// A subscriber that accepts less than the others ends without them.
struct SubscriberDemands: Sendable, Hashable {
    /// The most bytes that any subscriber accepts; nil for any number.
    var byteLimit: Int64?
    /// The time for which the server may send nothing; nil for any time.
    var idleTimeout: Duration?
    var retryPolicy = RetryPolicy.default
    /// Whether a subscriber can be asked for a fresh URL.
    var isRefreshable = false
    /// Whether a file is wanted, so that bytes are kept which no subscriber accepts in memory.
    var wantsFile = true

    /// The interval between checks of running exchanges, by which the idle timeout is exceeded by at most a quarter.
    var tickInterval: Duration {
        // A division of durations is slow.
        guard let idleTimeout, idleTimeout < .seconds(4) else { return .seconds(1) }
        return max(.milliseconds(10), idleTimeout / 4)
    }
}

extension RetryPolicy {
    /// Returns whether this policy permits more retries than `other`, or as many with longer delays.
    func isMorePatient(than other: Self) -> Bool {
        if maximumRetries != other.maximumRetries { return maximumRetries > other.maximumRetries }
        if maximumDelay != other.maximumDelay { return maximumDelay > other.maximumDelay }
        if baseDelay != other.baseDelay { return baseDelay > other.baseDelay }
        return maximumRetryAfter > other.maximumRetryAfter
    }
}
