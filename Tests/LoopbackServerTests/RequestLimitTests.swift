import TestSupport
import Testing

@testable import LoopbackServer

/// Tests of resources that accept a number of requests in a time.
@Suite(.endsWhenHung)
struct RequestLimitTests {
    @Test func `requests beyond the limit are refused until the period is over`() {
        var state = SiteState()
        var resource = Resource(Content(seed: 1, length: 10))
        resource.requestLimit = .init(count: 2, period: .seconds(10))
        state.serve(resource, at: "/limited")
        // Each period begins with a request, and refused requests don't count.
        for (milliseconds, retryAfter) in [
            (3000, nil), (3000, nil), (3000, "10"), (4500, "9"), (12_999, "1"), (13_000, nil), (13_000, nil),
            (14_000, "9"), (99_000, nil),
        ] as [(Int, String?)] {
            let head = RequestHead(method: "GET", path: "/limited", headers: [:])
            let plan = state.begin(
                head, connection: 1, now: ResponsePlanTests.now, time: .milliseconds(milliseconds)
            ).plan
            #expect(plan.status == (retryAfter == nil ? 200 : 429), "\(milliseconds)")
            #expect(plan.headers["Retry-After"] == retryAfter)
        }
        #expect(state.requests(at: "/limited").count == 9)
    }
}
