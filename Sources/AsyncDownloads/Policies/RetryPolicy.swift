/// How often, and after how long, an attempt that failed for a passing reason is made again.
///
/// Worth a retry are timeouts, lost and refused connections, unresolved names, truncated bodies and the status codes
/// 408, 429, 500, 502, 503, 504 and 520 to 524; nothing else is. The delay before the n-th retry is drawn evenly
/// from zero to `baseDelay × 2ⁿ⁻¹`, at most ``maximumDelay``, and is no shorter than the server's Retry-After
/// (RFC 9110, 10.2.3) up to ``maximumRetryAfter``. A retry that could not begin before the deadline is not waited for.
public struct RetryPolicy: Sendable, Hashable {
    /// Attempts after the first.
    ///
    /// The count begins again whenever an attempt brought new bytes. Default: 5.
    public var maximumRetries: Int

    /// The upper bound of the first delay.
    ///
    /// Default: 1 second.
    public var baseDelay: Duration

    /// The upper bound of every delay that the policy itself draws.
    ///
    /// Default: 60 seconds.
    public var maximumDelay: Duration

    /// The longest Retry-After that is obeyed in full; a longer one is cut to this.
    ///
    /// Default: 10 minutes.
    public var maximumRetryAfter: Duration

    /// Creates a policy.
    public init(
        maximumRetries: Int = 5, baseDelay: Duration = .seconds(1), maximumDelay: Duration = .seconds(60),
        maximumRetryAfter: Duration = .seconds(600)
    ) {
        self.maximumRetries = maximumRetries
        self.baseDelay = baseDelay
        self.maximumDelay = maximumDelay
        self.maximumRetryAfter = maximumRetryAfter
    }

    /// Five retries after one second and more.
    public static let `default` = Self()

    /// No retry: the first failure is final.
    public static let never = Self(maximumRetries: 0)

    /// The delay before retry number `retry` (1 for the first), `jitter` being drawn from 0 to 1.
    package func delay(beforeRetry retry: Int, jitter: Double, retryAfter: Duration?) -> Duration {
        let doublings = min(max(retry - 1, 0), 30)
        let bound = min(baseDelay * (1 << doublings), maximumDelay)
        let drawn = bound * min(max(jitter, 0), 1)
        return max(drawn, min(retryAfter ?? .zero, maximumRetryAfter))
    }
}
