/// The settings that a transfer applies: the request's own values, or the configuration's values where it has none.
///
/// A transfer with several subscribers applies the most permissive combination (``Tally``). A subscriber that accepts
/// less than the others ends alone.
struct ResolvedPolicies: Sendable, Hashable {
    var priority = DownloadRequest.Priority.normal
    /// The maximum number of bytes that are accepted; nil for any number.
    var maximumByteCount: Int64?
    /// The expected length of the file; nil if it isn't known, or if the subscribers expect different lengths.
    var expectedByteCount: Int64?
    /// The maximum time for which the server may send nothing; nil for no limit.
    var idleTimeout: Duration?
    /// The maximum time for the whole download; nil for no limit.
    ///
    /// Deadlines aren't combined, because a deadline ends only its own subscriber.
    var deadline: Duration?
    var retryPolicy = RetryPolicy.default
    var networkAccess = NetworkAccess()
    /// Whether the request can supply a fresh URL.
    var isRefreshable = false
    /// Whether the request can supply secret headers for an attempt.
    var isAuthorizing = false
    /// Whether at least one subscriber wants a file.
    ///
    /// If so, bytes are kept even if no subscriber accepts them in memory.
    var wantsFile = true

    init() {}

    /// Resolves the settings of a request.
    init(_ request: DownloadRequest, _ configuration: Downloader.Configuration) {
        priority = request.priority
        maximumByteCount = request.largestByteCount
        expectedByteCount = request.expectedByteCount
        idleTimeout = (request.idleTimeout ?? configuration.idleTimeout).duration
        deadline = (request.deadline ?? configuration.deadline).duration
        retryPolicy = request.retryPolicy ?? configuration.retryPolicy
        networkAccess = request.networkAccess ?? configuration.networkAccess
        isRefreshable = request.refreshURL != nil
        isAuthorizing = request.authorizer != nil
        wantsFile = request.destination != .memory
    }

    /// Returns the most permissive combination of two requests, apart from the expected length: the longest timeout and
    /// the largest limits.
    fileprivate func combined(with other: Self) -> Self {
        var all = self
        all.priority = max(priority, other.priority)
        all.maximumByteCount = Self.larger(maximumByteCount, other.maximumByteCount)
        all.idleTimeout = Self.larger(idleTimeout, other.idleTimeout)
        all.deadline = nil
        if other.retryPolicy.isMorePatient(than: retryPolicy) { all.retryPolicy = other.retryPolicy }
        all.networkAccess = networkAccess.combined(with: other.networkAccess)
        all.isAuthorizing = isAuthorizing || other.isAuthorizing
        all.isRefreshable = isRefreshable || other.isRefreshable
        all.wantsFile = wantsFile || other.wantsFile
        return all
    }

    /// Returns the larger value, where nil is larger than any other.
    private static func larger<Value: Comparable>(_ left: Value?, _ right: Value?) -> Value? {
        guard let left, let right else { return nil }
        return max(left, right)
    }

    /// Returns the error of a body that is longer than any subscriber accepts; nil if `count` is unknown or within the
    /// limit.
    func excess(_ count: Int64?) -> DownloadError? {
        guard let maximumByteCount, let count, count > maximumByteCount else { return nil }
        if maximumByteCount == expectedByteCount {
            return DownloadError(.unexpectedByteCount, "\(count) bytes, \(maximumByteCount) expected")
        }
        return DownloadError(.bodyTooLarge, "\(count) bytes, \(maximumByteCount) allowed")
    }

    /// The interval between checks of running exchanges, so that the idle timeout is exceeded by at most a quarter.
    var tickInterval: Duration {
        // This check comes first because dividing durations is slow.
        guard let idleTimeout, idleTimeout < .seconds(4) else { return .seconds(1) }
        return max(.milliseconds(10), idleTimeout / 4)
    }
}

extension ResolvedPolicies {
    /// A multiset of policies: each distinct value with the number of subscribers that have it.
    ///
    /// The number of distinct values is small, so comparing them costs less than hashing them.
    struct Tally: Sendable {
        private struct Entry: Sendable {
            let policies: ResolvedPolicies
            var count = 1
        }

        private var entries: [Entry] = []

        /// The policies that occur, each once.
        var values: some Collection<ResolvedPolicies> { entries.lazy.map(\.policies) }

        /// The combination of all policies; nil without subscribers.
        var combined: ResolvedPolicies? {
            guard let first = values.first else { return nil }
            guard entries.count > 1 else { return first }
            var all = values.dropFirst().reduce(first) { $0.combined(with: $1) }
            let lengths = Set(values.compactMap(\.expectedByteCount))
            all.expectedByteCount = lengths.count == 1 ? lengths.first : nil
            return all
        }

        mutating func insert(_ policies: ResolvedPolicies) {
            if let index = entries.firstIndex(where: { $0.policies == policies }) {
                entries[index].count += 1
            } else {
                entries.append(Entry(policies: policies))
            }
        }

        /// Removes the policies of one subscriber.
        mutating func remove(_ policies: ResolvedPolicies) {
            guard let index = entries.firstIndex(where: { $0.policies == policies }) else {
                preconditionFailure("removed policies that no subscriber has")
            }
            entries[index].count -= 1
            if entries[index].count == 0 { entries.remove(at: index) }
        }
    }
}

extension RetryPolicy {
    /// Returns whether this policy permits more retries than `other`, or as many with longer delays.
    fileprivate func isMorePatient(than other: Self) -> Bool {
        if maximumRetries != other.maximumRetries { return maximumRetries > other.maximumRetries }
        if maximumDelay != other.maximumDelay { return maximumDelay > other.maximumDelay }
        if baseDelay != other.baseDelay { return baseDelay > other.baseDelay }
        return maximumRetryAfter > other.maximumRetryAfter
    }
}
