internal import TestSupport
internal import Testing

@testable import AsyncDownloads

private let mebibyte = PlanFixture.mebibyte

@Suite("Requests of SegmentPlan", .endsWhenHung)
struct SegmentPlanRequestTests {
    @Test func `a file without a measured rate is divided into equal parts`() {
        var fixture = PlanFixture(length: 60 * mebibyte)
        let starts = fixture.request(5, from: 2).map(\.lowerBound)
        #expect(starts == [10, 20, 30, 40, 50].map { $0 * mebibyte })
    }

    @Test func `no part is shorter than the minimum`() {
        var fixture = PlanFixture(length: 4 * mebibyte)
        #expect(fixture.request(8, from: 2).count == 3)
        fixture = PlanFixture(length: 2 * mebibyte - 1)
        #expect(fixture.request(8, from: 2).isEmpty)
    }

    @Test func `without a measured rate nothing is divided where the time counts`() {
        var fixture = PlanFixture()
        #expect(fixture.request(1, from: 2, .init(count: 0, minimumTime: .seconds(1))) == [])
        fixture.receive(at: [1: 1])
        #expect(fixture.request(1, from: 2, .init(count: 0, minimumTime: .seconds(1))).count == 1)
        fixture.receive(at: [1: 40])
        #expect(fixture.request(1, from: 3, .init(count: 0, minimumTime: .seconds(1))) == [])
    }

    @Test func `the segment that would take longest is divided, by measured rates`() throws {
        var fixture = PlanFixture(length: 128 * mebibyte)
        _ = fixture.request(1, from: 2)
        _ = fixture.accept(2)
        fixture.receive(at: [1: 24, 2: 4])
        // 40 MiB at 24 MiB a second, and 60 at 4; a third exchange at 14 takes 7 of 9 parts of the latter.
        let range = try #require(fixture.request(1, from: 3).first)
        #expect(range.upperBound == 128 * mebibyte)
        let left = Double(range.lowerBound - 68 * mebibyte) / Double(60 * mebibyte)
        #expect((0.2...0.25).contains(left))
    }

    @Test func `a young segment counts as one of usual rate`() {
        var fixture = PlanFixture(length: 128 * mebibyte)
        fixture.receive(at: [1: 8])
        _ = fixture.request(1, from: 2)
        _ = fixture.accept(2)
        #expect(fixture.table.segment(of: 2)?.rate(at: fixture.now) == nil)
        // Both have 60 MiB, so that the young one isn't slower.
        let (first, second) = (fixture.open[1]?.count ?? 0, fixture.open[2]?.count ?? 0)
        #expect(abs(first - second) <= 64 << 10)
        let ranges = fixture.request(2, from: 3)
        let middle = fixture.table.segments[1].start
        #expect(ranges.count == 2 && ranges[0].lowerBound < middle && middle + 20 * mebibyte < ranges[1].lowerBound)
    }

    @Test func `a segment that has stalled is divided first, and keeps the minimum`() {
        var fixture = PlanFixture(length: 256 * mebibyte)
        _ = fixture.request(1, from: 2)
        _ = fixture.accept(2)
        fixture.receive(at: [1: 8, 2: 8])
        fixture.receive(at: [1: 8], seconds: 9)
        #expect(fixture.request(1, from: 3).map(\.lowerBound) == [137 * mebibyte])
    }

    @Test func `a request takes the delay of another connection into account`() {
        var fixture = PlanFixture(length: 129 * mebibyte)
        let range = 0..<129 * mebibyte
        fixture.table.remove(1)
        fixture.table.request(range, by: 2, at: fixture.now)
        fixture.now += .seconds(2)
        _ = fixture.accept(2, 0)
        fixture.receive(at: [2: 1])
        // Of 128 MiB, the current exchange receives one more in the two seconds.
        #expect(fixture.table.setup == .seconds(2))
        let start = fixture.request(1, from: 3).first?.lowerBound ?? 0
        #expect((66 * mebibyte...67 * mebibyte).contains(start))
    }

    @Test func `requests that were not answered count as parts`() {
        var fixture = PlanFixture(length: 64 * mebibyte)
        _ = fixture.request(1, from: 2)
        let ranges = fixture.request(2, from: 3)
        #expect(ranges == [16 * mebibyte..<64 * mebibyte, 48 * mebibyte..<64 * mebibyte])
        for exchange in [4, 3, 2] as [ExchangeID] { _ = fixture.accept(exchange) }
        #expect(fixture.table.segments.map(\.start) == [0, 16, 32, 48].map { $0 * mebibyte })
    }

    @Test func `an engine with windows gets bounded requests, which follow one another`() {
        var fixture = PlanFixture(length: 64 * mebibyte)
        fixture.table.remove(1)
        let terms = ExchangeTable.RequestTerms(count: 0, window: 8 * mebibyte)
        #expect(fixture.request(2, from: 2, terms) == [0..<8 * mebibyte, 8 * mebibyte..<16 * mebibyte])
        #expect(fixture.request(1, from: 4, terms) == [16 * mebibyte..<24 * mebibyte])
        _ = fixture.accept(4)
        #expect(fixture.request(1, from: 5, terms) == [24 * mebibyte..<32 * mebibyte])
    }

    @Test func `from 48 ranges on nothing is divided`() {
        func requests(_ rangeCount: Int64) -> Int {
            var received = IntervalSet(0..<1)
            for index in 1..<rangeCount { received.insert(index * mebibyte..<index * mebibyte + 1) }
            var fixture = PlanFixture(length: 256 * mebibyte, received: received)
            return fixture.request(4, from: 2).count
        }
        #expect(requests(48) == 0)
        #expect(requests(46) == 2)
        #expect(requests(40) == 4)
    }
}
