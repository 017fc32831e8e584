internal import TestSupport
internal import Testing

@testable internal import AsyncDownloads

/// Tests of the time for which a bound on connections applies.
@Suite(.endsWhenHung)
struct RecentBoundTests {
    /// Returns the values after bounds that apply at times in tenths of a second.
    private func values(_ bounds: [(time: Int, bound: Int)]) -> [Int] {
        var recent = RecentBound()
        return bounds.map { time, bound in
            recent.update(bound, at: .milliseconds(100 * time))
            return recent.value
        }
    }

    @Test func `a lower bound applies at once`() {
        #expect(values([(0, 8), (1, 3), (2, 2), (3, 1)]) == [8, 3, 2, 1])
    }

    @Test func `a larger bound applies five seconds after the last lower one`() {
        #expect(values([(0, 2), (1, 8), (49, 8), (50, 8)]) == [2, 2, 2, 8])
        #expect(values([(0, 2), (30, 8), (40, 2), (50, 8), (89, 8), (90, 8)]) == [2, 2, 2, 2, 2, 8])
    }

    @Test func `of larger bounds, the lowest one applies first`() {
        #expect(values([(0, 2), (49, 3), (50, 16), (98, 16), (99, 16)]) == [2, 2, 3, 3, 16])
        #expect(values([(0, 2), (1, 3), (2, 16), (50, 16), (51, 16)]) == [2, 2, 2, 3, 16])
    }
}
