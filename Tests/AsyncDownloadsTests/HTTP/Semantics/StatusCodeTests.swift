import AsyncDownloads
import TestSupport
import Testing

@Suite("Status code", .endsWhenHung)
struct StatusCodeTests {
    @Test func `rule 36: exactly these statuses are worth a retry`() {
        let retryable = (0...999).filter { StatusCode($0).isRetryable }
        #expect(retryable == [408, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524])
    }

    /// RFC 9110, 15.4.
    @Test func `exactly these statuses lead to another URL`() {
        #expect((0...999).filter { StatusCode($0).isRedirect } == [301, 302, 303, 307, 308])
    }

    /// RFC 9110, 15.3.
    @Test func `the statuses from 200 to 299 are successes`() {
        #expect((0...999).filter { StatusCode($0).isSuccess } == Array(200...299))
        #expect(!StatusCode(.min).isSuccess && !StatusCode(.max).isSuccess)
    }
}
