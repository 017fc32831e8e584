import TestSupport
import Testing

@testable import AsyncDownloads

/// Tests of the times at which limited bytes may be received.
@Suite(.endsWhenHung) struct BandwidthPaceTests {
    @Test func `without a limit, nothing waits`() {
        var pace = BandwidthPace(limit: nil)
        #expect(pace.reserve(.max, at: .zero) == nil)
    }

    @Test(arguments: [64 << 10, 1_000_000, 100 << 20] as [Int64], [3_000, 16 << 10, 256 << 10])
    func `ten seconds bring ten times the limit, up to one percent and one part`(limit: Int64, part: Int) {
        var pace = BandwidthPace(limit: limit)
        var random = SplitMix64(seed: 1)
        var now = Duration.seconds(50)
        let end = now + .seconds(10)
        var count: Int64 = 0
        while now < end {
            count += Int64(part)
            guard let due = pace.reserve(part, at: now) else { continue }
            // Timers are late by up to 5 ms.
            now = due + .microseconds(Int64.random(in: 0...5_000, using: &random))
        }
        let expected = Double(10 * limit)
        #expect(Double(count) >= expected * 0.99 && Double(count) <= expected * 1.01 + Double(2 * part))
    }

    @Test func `a pause of the server is made up for by a tenth of a second only`() {
        var pace = BandwidthPace(limit: 1_000)
        #expect(pace.reserve(1_000, at: .zero) == .milliseconds(900))
        #expect(pace.reserve(100, at: .seconds(60)) == nil)
        #expect(pace.reserve(1_000, at: .seconds(60)) == .seconds(61))
    }

    @Test func `transfers with parts of the same length have equal shares`() {
        var pace = BandwidthPace(limit: 10_000)
        var next = [Duration](repeating: .zero, count: 3)
        var counts = [0, 0, 0]
        while let index = next.indices.min(by: { next[$0] < next[$1] }), next[index] < .seconds(30) {
            counts[index] += 500
            next[index] = pace.reserve(500, at: next[index]) ?? next[index]
        }
        #expect(counts.allSatisfy { abs($0 - 100_000) <= 1_500 }, "\(counts)")
    }

    @Test func `a changed limit applies to bytes that wait`() {
        var pace = BandwidthPace(limit: 1_000)
        let due = pace.reserve(10_100, at: .zero)
        #expect(due == .seconds(10))
        let adjust = pace.setLimit(2_000, at: .seconds(4))
        #expect(adjust(.seconds(10)) == .seconds(7))
        #expect(adjust(.seconds(3)) == .seconds(3))
        #expect(pace.reserve(2_000, at: .seconds(4)) == .seconds(8))
        let remove = pace.setLimit(nil, at: .seconds(5))
        #expect(remove(.seconds(8)) == .seconds(5))
        #expect(pace.reserve(1, at: .seconds(5)) == nil)
    }

    @Test func `a limit below 1 counts as 1`() {
        var pace = BandwidthPace(limit: -5)
        #expect(pace.limit == 1)
        _ = pace.setLimit(0, at: .zero)
        #expect(pace.limit == 1)
    }
}
