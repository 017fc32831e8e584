internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite("DecayingRate", .endsWhenHung)
struct DecayingRateTests {
    /// Returns a rate that has counted `count` bytes every ten milliseconds for a time.
    private func rate(_ count: Int64, for time: Duration, since start: Duration = .zero) -> DecayingRate {
        var rate = DecayingRate(since: start)
        var now = start
        while now < start + time {
            now += .milliseconds(10)
            rate.add(count, at: now)
        }
        return rate
    }

    @Test func `nothing is known of a young connection`() {
        #expect(rate(100, for: .milliseconds(90)).value(at: .milliseconds(90)) == nil)
    }

    @Test(arguments: [100, 500, 1000, 5000])
    func `a constant rate is that rate from the start`(milliseconds: Int) throws {
        let time = Duration.milliseconds(milliseconds)
        let value = try #require(rate(100, for: time, since: .seconds(7)).value(at: .seconds(7) + time))
        #expect((9900...10_200).contains(value))
    }

    @Test func `the rate follows a change, and falls to zero during a stall`() throws {
        var changed = rate(100, for: .seconds(5))
        for step in 1...100 { changed.add(300, at: .seconds(5) + .milliseconds(10 * step)) }
        #expect((26_000...30_000).contains(try #require(changed.value(at: .seconds(6)))))
        #expect(try #require(changed.value(at: .seconds(9))) < 100)
    }
}
