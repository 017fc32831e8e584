/// What one subscriber's request says of how its transfer runs, with the downloader's defaults filled in.
struct SubscriberTerms: Sendable {
    var deadline: Duration?
    var idleTimeout: Duration?
    var retryPolicy = RetryPolicy.default
}

/// What the attached subscribers of a transfer demand together: the most patient and the most permissive counts.
///
/// A subscriber that accepts less than the others is ended on its own.
struct SubscriberDemands: Sendable, Hashable {
    /// The most bytes that any subscriber accepts; nil for any number.
    var byteLimit: Int64?
    /// How long no byte may arrive; nil for any time.
    var idleTimeout: Duration?
    var retryPolicy = RetryPolicy.default
    /// Whether a subscriber can be asked for a fresh URL.
    var isRefreshable = false
    /// Whether a file is wanted, so that bytes are kept which no subscriber accepts in memory.
    var wantsFile = true

    /// How often to look at a running exchange: often enough for the idle timeout to be kept within a quarter.
    var tickInterval: Duration {
        guard let idleTimeout else { return .seconds(1) }
        return max(.milliseconds(10), min(.seconds(1), idleTimeout / 4))
    }
}

extension RetryPolicy {
    /// Whether this policy goes on for longer than `other`: by retries, then by the longest delays.
    func isMorePatient(than other: Self) -> Bool {
        if maximumRetries != other.maximumRetries { return maximumRetries > other.maximumRetries }
        if maximumDelay != other.maximumDelay { return maximumDelay > other.maximumDelay }
        if baseDelay != other.baseDelay { return baseDelay > other.baseDelay }
        return maximumRetryAfter > other.maximumRetryAfter
    }
}
