import TestSupport
import Testing

@testable import AsyncDownloads

@Suite(.endsWhenHung)
struct RateLimitTests {
    @Test(
        arguments: [
            (#""a";r=3;t=9"#, .available), (#""a";r=0;t=9, "b";r=3"#, .exhausted(.seconds(9))), (#""a";t=9"#, nil),
            // It is not known when the first limit permits requests again.
            (#""a";r=0, "b";r=500;t=3600"#, nil), (#""a";r=0"#, nil), ("", nil),
        ] as [(String, RateLimit.Quota?)])
    func `a quota is available if no limit is exhausted`(_ field: String, _ quota: RateLimit.Quota?) {
        #expect(RateLimit.quota(["RateLimit": field]) == quota)
    }
}
