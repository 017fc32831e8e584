/// A policy that decides how often, and after which delay, a failed attempt is repeated.
///
/// ```swift
/// configuration.retryPolicy = RetryPolicy(maximumRetries: 10, baseDelay: .seconds(2))
/// request.retryPolicy = .never
/// ```
///
/// Only failures that may be temporary are retried (``DownloadError/isRetryable``), such as timeouts, lost and refused
/// connections, unresolved host names, truncated bodies, and the status codes 408, 429, 500, 502, 503, 504, and 520 to
/// 524. The delay before the n-th retry is drawn uniformly from zero to `baseDelay × 2ⁿ⁻¹`, at most ``maximumDelay``.
/// It is never shorter than the server's Retry-After (RFC 9110, 10.2.3), up to ``maximumRetryAfter``. If the deadline
/// would pass before the next retry, the download doesn't wait for that retry.
///
/// A 429 response with Retry-After requests a delay and isn't counted as a failure: until the delay has passed, no
/// download of the downloader sends a request to the origin. A 503 response with Retry-After delays only requests for
/// the resource, or all requests to the origin if another resource is refused as well. A 429 response without
/// Retry-After isn't counted either. After ten uncounted responses in a row, without new bytes in between, each
/// additional one uses a retry. With the policy ``never``, every such response is a failure.
///
/// If the requests for eight different resources in a row get a 429 or 503 response without Retry-After, another
/// response that is retried, or no response within the idle timeout, the downloader sends one request at a time to the
/// origin until one is accepted. It does the same if at least eight, and at least a third, of the latest requests get a
/// 429 or 503 response without Retry-After. The failure of such a request isn't counted, up to ten times in a row for
/// each download, and the download waits for its turn with the others, unless it was redirected from another origin; a
/// redirected request without a response uses a retry. Such failures within the random delay that it would wait
/// otherwise count once. None of them uses a retry in this time, even with the policy ``never``, except that downloads
/// without retries fail if such a request gets no response and no download is receiving from the origin. If no request
/// is accepted for 60 seconds, or for 300 seconds if the origin has accepted one before, and no download is receiving
/// from it, the waiting downloads fail; if no response arrives, each one waits for as many requests as its policy
/// permits retries.
///
/// If no connection to an origin can be established, all of its downloads wait, and an attempt of one counts for all of
/// them; see ``Downloader/Configuration/hostPatience``.
///
/// If a host refuses the only connection of a download without Retry-After while another download has several
/// connections to the host, the other download closes some of them. The refused request is repeated once after 250
/// milliseconds, even with the policy ``never``.
public struct RetryPolicy: Sendable, Hashable {
    /// The maximum number of retries after the first attempt.
    ///
    /// The count restarts at zero after each attempt that received new bytes. Default: 5.
    public var maximumRetries: Int

    /// The upper bound of the delay before the first retry.
    ///
    /// Default: 1 second.
    public var baseDelay: Duration

    /// The upper bound of every random delay; it doesn't limit Retry-After.
    ///
    /// Default: 60 seconds.
    public var maximumDelay: Duration

    /// The longest Retry-After that is respected in full; a longer one is reduced to this duration.
    ///
    /// Default: 10 minutes.
    public var maximumRetryAfter: Duration

    /// Returns the time for which a stated one is respected; nil if none is stated, or none is respected.
    package func respected(_ retryAfter: Duration?) -> Duration? {
        retryAfter.map { min($0, maximumRetryAfter) }.flatMap { $0 > .zero ? $0 : nil }
    }

    /// Whether a refusal that asks for a delay is final if few bytes were received (``bytesWorth(_:)``), because the
    /// resource is available elsewhere.
    package var endsWhenRefused = false

    /// Returns the number of received bytes for which a server is waited for, although the resource is available
    /// elsewhere: the other server may have another object, so that the bytes are received again.
    package static func bytesWorth(_ delay: Duration) -> Int64 {
        Int64((delay.clampedForTimers / .seconds(1)).rounded(.up)) << 20
    }

    /// Creates a policy with the given values.
    public init(
        maximumRetries: Int = 5, baseDelay: Duration = .seconds(1), maximumDelay: Duration = .seconds(60),
        maximumRetryAfter: Duration = .seconds(600)
    ) {
        self.maximumRetries = maximumRetries
        self.baseDelay = baseDelay
        self.maximumDelay = maximumDelay
        self.maximumRetryAfter = maximumRetryAfter
    }

    /// A policy with the default values: five retries, with delays that start at one second at most.
    public static let `default` = Self()

    /// A policy without retries: the first failure is final.
    public static let never = Self(maximumRetries: 0)

    /// Returns the delay before retry number `retry`, starting at 1; `jitter` is a random number from 0 to 1.
    package func delay(beforeRetry retry: Int, jitter: Double, retryAfter: Duration?) -> Duration {
        let most = maximumDelay.clampedForTimers
        var bound = min(baseDelay.clampedForTimers, most)
        for _ in 0..<min(max(retry - 1, 0), 62) { bound = min(bound + bound, most) }
        let drawn = bound * min(max(jitter, 0), 1)
        return max(drawn, min(retryAfter ?? .zero, maximumRetryAfter).clampedForTimers)
    }
}
