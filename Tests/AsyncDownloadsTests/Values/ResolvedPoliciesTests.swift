internal import TestSupport
internal import Testing

@testable internal import AsyncDownloads

/// The combination of the policies of several subscribers.
@Suite(.endsWhenHung)
struct ResolvedPoliciesTests {
    @Test(
        arguments: [
            ([100], 100), ([nil, nil], nil), ([100, nil, 100], 100), ([100, 200], nil), ([100, 200, 300], nil),
            ([100, 200, 100], nil),
        ] as [([Int64?], Int64?)])
    func `subscribers that expect different lengths have no common one`(_ lengths: [Int64?], _ common: Int64?) {
        var tally = ResolvedPolicies.Tally()
        for length in lengths {
            var policies = ResolvedPolicies()
            policies.expectedByteCount = length
            tally.insert(policies)
        }
        #expect(tally.combined?.expectedByteCount == common)
    }
}
