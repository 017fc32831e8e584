internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite("RetryPolicy", .endsWhenHung)
struct RetryPolicyTests {
    private static let policy = RetryPolicy(
        baseDelay: .seconds(2), maximumDelay: .seconds(30), maximumRetryAfter: .seconds(100))

    @Test(arguments: [(1, 2), (2, 4), (3, 8), (4, 16), (5, 30), (6, 30), (64, 30), (.max, 30), (0, 2), (-5, 2)])
    func `rule 37: the delay is random between zero and a bound that doubles up to the maximum`(
        _ retry: Int, _ bound: Int64
    ) {
        #expect(Self.policy.delay(beforeRetry: retry, jitter: 0, retryAfter: nil) == .zero)
        #expect(Self.policy.delay(beforeRetry: retry, jitter: 1, retryAfter: nil) == .seconds(bound))
        #expect(Self.policy.delay(beforeRetry: retry, jitter: 0.5, retryAfter: nil) == .milliseconds(500 * bound))
    }

    @Test func `a jitter outside its range is limited to the bounds`() {
        #expect(Self.policy.delay(beforeRetry: 1, jitter: -1, retryAfter: nil) == .zero)
        #expect(Self.policy.delay(beforeRetry: 1, jitter: 7, retryAfter: nil) == .seconds(2))
    }

    @Test(arguments: [(0, 0.0, 0), (5, 0.0, 5), (1, 1.0, 2), (100, 0.0, 100), (101, 0.0, 100), (1 << 31, 1.0, 100)])
    func `rule 37: Retry-After lengthens the delay, never shortens it, and is limited by the policy`(
        _ seconds: Int64, _ jitter: Double, _ expected: Int64
    ) {
        let delay = Self.policy.delay(beforeRetry: 1, jitter: jitter, retryAfter: .seconds(seconds))
        #expect(delay == .seconds(expected))
    }

    @Test func `a policy without delays retries immediately`() {
        let policy = RetryPolicy(baseDelay: .zero)
        #expect(policy.delay(beforeRetry: 9, jitter: 1, retryAfter: nil) == .zero)
    }

    @Test(arguments: [1, 2, 6, 62, .max])
    func `the longest durations do not overflow`(_ retry: Int) {
        let longest = Duration.seconds(Int64.max)
        let policy = RetryPolicy(baseDelay: longest, maximumDelay: longest, maximumRetryAfter: longest)
        #expect(policy.delay(beforeRetry: retry, jitter: 1, retryAfter: nil) > .seconds(1_000_000))
        #expect(policy.delay(beforeRetry: retry, jitter: 0, retryAfter: longest) > .seconds(1_000_000))
        let least = Duration.seconds(Int64.min)
        let negative = RetryPolicy(baseDelay: least, maximumDelay: least, maximumRetryAfter: least)
        #expect(negative.delay(beforeRetry: retry, jitter: 1, retryAfter: longest) == .zero)
    }

    @Test func `the named policies have the documented values`() {
        #expect(RetryPolicy.never.maximumRetries == 0)
        #expect(RetryPolicy.default == RetryPolicy())
        #expect(RetryPolicy.default.maximumRetries == 5)
        #expect(RetryPolicy.default.delay(beforeRetry: 99, jitter: 1, retryAfter: nil) == .seconds(60))
        #expect(RetryPolicy.default.delay(beforeRetry: 1, jitter: 1, retryAfter: .seconds(601)) == .seconds(600))
    }
}
