internal import TestSupport
internal import Testing

@testable import AsyncDownloads

private let mebibyte = PlanFixture.mebibyte

@Suite("SegmentPlan", .endsWhenHung)
struct SegmentPlanTests {
    @Test func `one exchange has the whole file`() {
        var fixture = PlanFixture(length: 100)
        #expect(fixture.open == [1: 0..<100])
        #expect(fixture.receive(60, 1) == [0..<60])
        #expect(fixture.open == [1: 60..<100])
        #expect(fixture.table.exhausted(fixture.received).isEmpty)
        fixture.receive(60, 1)
        #expect(fixture.received == IntervalSet(0..<100))
        #expect(fixture.table.exhausted(fixture.received).map(\.id) == [1])
        fixture.table.remove(1)
        #expect(fixture.table.isEmpty)
    }

    @Test func `an unknown length has no end, and nothing is requested beside it`() {
        var table = ExchangeTable()
        table.insert(ExchangeProgress(request: .everything, at: .zero), id: 1)
        let accepted = table.accept(
            1, from: 0, responseEnd: nil, length: nil, received: IntervalSet(), at: .zero)
        #expect(accepted == .segment(shortened: nil))
        #expect(table.claim(0..<9, by: 1, received: IntervalSet(), at: .zero) == [0..<9])
        table.wrote(0..<9, by: 1, at: .zero)
        #expect(table.segment(of: 1)?.limit == nil && table.segment(of: 1)?.claimed == 9)
        #expect(table.requestRanges(.init(count: 4), received: IntervalSet(0..<9), at: .seconds(9)) == [])
        #expect(table.unassigned(IntervalSet(0..<9)) == [])
        #expect(table.exhausted(IntervalSet(0..<9)).isEmpty)
    }

    @Test func `an empty file is complete at once`() {
        let fixture = PlanFixture(length: 0)
        #expect(fixture.table.exhausted(IntervalSet()).map(\.id) == [1])
    }

    @Test func `a segment is shortened when its successor is accepted, and not before`() {
        var fixture = PlanFixture()
        #expect(fixture.request(1, from: 2) == [32 * mebibyte..<64 * mebibyte])
        #expect(fixture.open == [1: 0..<64 * mebibyte])
        #expect(fixture.accept(2) == .segment(shortened: 1))
        #expect(fixture.open == [1: 0..<32 * mebibyte, 2: 32 * mebibyte..<64 * mebibyte])
    }

    @Test func `bytes at the limit are clipped, and later ones are ignored`() {
        var fixture = PlanFixture()
        _ = fixture.request(1, from: 2)
        fixture.receive(32 * mebibyte - 100, 1)
        _ = fixture.accept(2)
        #expect(fixture.receive(4096, 1) == [32 * mebibyte - 100..<32 * mebibyte])
        #expect(fixture.receive(4096, 1) == [])
        let exhausted = fixture.table.exhausted(fixture.received)
        #expect(exhausted.map(\.id) == [1] && exhausted.map(\.surplus) == [32 * mebibyte])
    }

    @Test func `a response that comes after its start was passed is of no use`() {
        var fixture = PlanFixture()
        _ = fixture.request(1, from: 2)
        let parts = fixture.arrive(32 * mebibyte + 1, 1)
        #expect(fixture.accept(2) == .late)
        #expect(fixture.open == [1: 32 * mebibyte + 1..<64 * mebibyte])
        #expect(fixture.table.closing.keys.map(\.self) == [2])
        for part in parts { fixture.write(part, 1) }
        fixture.table.remove(2)
        #expect(fixture.table.closing.isEmpty)
    }

    @Test func `a response is of no use where a write has failed before its start`() {
        var fixture = PlanFixture()
        _ = fixture.request(1, from: 2)
        let parts = fixture.arrive(32 * mebibyte + 1, 1)
        for part in parts { fixture.table.wrote(part, by: 1, at: .zero) }
        #expect(fixture.accept(2) == .late)
    }

    @Test func `a response that begins where the exchange before it has arrived is of use`() {
        var fixture = PlanFixture()
        _ = fixture.request(1, from: 2)
        _ = fixture.arrive(32 * mebibyte, 1)
        #expect(fixture.accept(2) == .segment(shortened: 1))
        #expect(fixture.table.exhausted(fixture.received).isEmpty)
        fixture.write(0..<32 * mebibyte, 1)
        #expect(fixture.table.exhausted(fixture.received).map(\.id) == [1])
    }

    @Test func `a response whose start is received is of no use`() {
        var fixture = PlanFixture()
        _ = fixture.request(1, from: 2)
        fixture.received.insert(32 * mebibyte..<33 * mebibyte)
        #expect(fixture.accept(2) == .late)
        #expect(fixture.open == [1: 0..<64 * mebibyte])
    }

    @Test(arguments: [[2, 3], [3, 2]] as [[ExchangeID]])
    func `two responses lead to the same plan in both orders`(order: [ExchangeID]) {
        var fixture = PlanFixture()
        let ranges = fixture.request(2, from: 2)
        #expect(ranges.map(\.upperBound) == [64 * mebibyte, 64 * mebibyte])
        for exchange in order { _ = fixture.accept(exchange) }
        let (near, far) = (ranges[0].lowerBound, ranges[1].lowerBound)
        #expect(fixture.open == [1: 0..<near, 2: near..<far, 3: far..<64 * mebibyte])
    }

    @Test func `a refused request leaves its bytes with the exchange before it`() {
        var fixture = PlanFixture()
        let ranges = fixture.request(2, from: 2)
        fixture.table.remove(3)
        _ = fixture.accept(2)
        #expect(fixture.open == [1: 0..<ranges[0].lowerBound, 2: ranges[0].lowerBound..<64 * mebibyte])
        #expect(fixture.table.unassigned(fixture.received) == [])
    }

    @Test func `a short response leaves a gap, which is requested first`() {
        var fixture = PlanFixture()
        _ = fixture.request(1, from: 2)
        _ = fixture.accept(2, 32 * mebibyte, to: 33 * mebibyte)
        #expect(fixture.table.unassigned(fixture.received) == [33 * mebibyte..<64 * mebibyte])
        #expect(fixture.request(1, from: 3) == [33 * mebibyte..<64 * mebibyte])
        #expect(
            fixture.request(1, from: 4).map(\.lowerBound) != [33 * mebibyte], "a requested gap isn't requested twice")
    }
}
