internal import TestSupport
internal import Testing

@testable import AsyncDownloads

private let mebibyte = PlanFixture.mebibyte

@Suite("Ends in SegmentPlan", .endsWhenHung)
struct SegmentPlanEndTests {
    /// A plan with two segments, of 32 MiB each.
    private func divided() -> PlanFixture {
        var fixture = PlanFixture()
        _ = fixture.request(1, from: 2)
        _ = fixture.accept(2)
        return fixture
    }

    @Test func `the exchange before one that has ended takes the rest over`() {
        var fixture = divided()
        fixture.receive(mebibyte, 2)
        fixture.table.remove(2)
        #expect(fixture.open == [1: 0..<64 * mebibyte])
        #expect(fixture.table.unassigned(fixture.received) == [])
    }

    @Test func `the rest has no exchange where the one before it was closed`() {
        var fixture = divided()
        fixture.receive(32 * mebibyte, 1)
        fixture.table.cancel(1, at: .zero)
        fixture.receive(mebibyte, 2)
        fixture.table.remove(2)
        #expect(fixture.table.unassigned(fixture.received) == [33 * mebibyte..<64 * mebibyte])
        #expect(fixture.request(1, from: 3) == [33 * mebibyte..<64 * mebibyte])
    }

    @Test func `the rest has no exchange where the body of the one before it has passed it`() {
        var fixture = divided()
        fixture.receive(32 * mebibyte - 10, 1)
        fixture.receive(20, 1)
        fixture.receive(mebibyte, 2)
        fixture.table.remove(2)
        #expect(fixture.table.unassigned(fixture.received) == [33 * mebibyte..<64 * mebibyte])
    }

    @Test func `an exchange takes over only what its response contains`() {
        var fixture = PlanFixture()
        _ = fixture.request(2, from: 2)
        let (near, far) = (
            fixture.table[2]?.range?.lowerBound ?? 0, fixture.table[3]?.range?.lowerBound ?? 0
        )
        _ = fixture.accept(2, near, to: far + 10)
        _ = fixture.accept(3)
        fixture.table.remove(3)
        #expect(fixture.open[2] == near..<far + 10)
        #expect(fixture.table.unassigned(fixture.received) == [far + 10..<64 * mebibyte])
    }

    @Test func `rule 19: what a short response has not brought returns to the exchange before it`() {
        var fixture = PlanFixture()
        _ = fixture.request(1, from: 2)
        _ = fixture.accept(2, 32 * mebibyte, to: 32 * mebibyte + 10)
        #expect(fixture.open[1] == 0..<32 * mebibyte)
        fixture.receive(10, 2)
        fixture.table.remove(2)
        #expect(fixture.open == [1: 0..<64 * mebibyte])
        #expect(fixture.table.unassigned(fixture.received) == [])
        #expect(fixture.receive(64 * mebibyte, 1) == [0..<32 * mebibyte, 32 * mebibyte + 10..<64 * mebibyte])
    }

    @Test func `rule 19: it returns only up to the next exchange, and not where its bytes have passed`() {
        var fixture = PlanFixture()
        _ = fixture.request(2, from: 2)
        let starts = [2, 3].map { fixture.table[$0]?.range?.lowerBound ?? 0 }
        _ = fixture.accept(2, starts[0], to: starts[0] + 10)
        _ = fixture.accept(3)
        var passed = fixture
        fixture.receive(10, 2)
        fixture.table.remove(2)
        #expect(fixture.open[1] == 0..<starts[1])
        passed.receive(starts[0] + 1, 1)
        passed.receive(10, 2)
        passed.table.remove(2)
        #expect(passed.table.unassigned(passed.received) == [starts[0] + 10..<starts[1]])
    }

    @Test func `the first exchange has no predecessor`() {
        var fixture = divided()
        fixture.receive(mebibyte, 1)
        fixture.table.remove(1)
        #expect(fixture.table.unassigned(fixture.received) == [mebibyte..<32 * mebibyte])
    }

    @Test func `bytes that a canceled exchange still writes are not written by another one`() {
        var fixture = divided()
        fixture.receive(mebibyte, 2)
        let parts = fixture.arrive(1000, 2)
        fixture.table.cancel(2, at: .zero)
        #expect(fixture.table.claim(0..<1000, by: 2, received: fixture.received, at: .zero) == [])
        // Received bytes of a mebibyte are received again, and the bytes of the pending write too.
        #expect(
            fixture.receive(33 * mebibyte + 2000, 1) == [
                0..<32 * mebibyte, 33 * mebibyte + 1000..<33 * mebibyte + 2000,
            ])
        for part in parts { fixture.write(part, 2) }
        fixture.table.remove(2)
        #expect(fixture.received == IntervalSet(0..<33 * mebibyte + 2000))
    }

    @Test func `canceling all leaves nothing but the writes in progress`() {
        var fixture = divided()
        _ = fixture.request(1, from: 3)
        let parts = fixture.arrive(1000, 1)
        fixture.table.removeSegments()
        fixture.table.updateAll { $1.cancel(at: .zero) }
        #expect(fixture.table.segments.isEmpty && !fixture.table.hasRequests)
        #expect(fixture.table.closing == [1: parts, 2: [], 3: []])
        for part in parts { fixture.write(part, 1) }
        for exchange in [1, 2, 3] as [ExchangeID] { fixture.table.remove(exchange) }
        #expect(fixture.table.isEmpty)
    }

    @Test func `the end of an exchange that is not in the table changes nothing`() {
        var fixture = divided()
        let before = fixture.open
        fixture.table.remove(9)
        fixture.table.cancel(9, at: .zero)
        #expect(fixture.open == before && fixture.table.count == 2)
    }
}
