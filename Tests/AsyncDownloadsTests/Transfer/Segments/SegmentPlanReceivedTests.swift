internal import TestSupport
internal import Testing

@testable import AsyncDownloads

private let mebibyte = PlanFixture.mebibyte

@Suite("Received bytes in SegmentPlan", .endsWhenHung)
struct SegmentPlanReceivedTests {
    @Test func `a download that continues with holes is one segment from the first missing byte`() {
        var received = IntervalSet(0..<10)
        received.insert(20..<30)
        var fixture = PlanFixture(length: 50, received: received)
        #expect(fixture.open == [1: 10..<50])
        #expect(fixture.receive(100, 1) == [10..<20, 30..<50])
        #expect(fixture.received == IntervalSet(0..<50))
        #expect(fixture.table.exhausted(fixture.received).map(\.id) == [1])
    }

    @Test func `a short received range is received again`() {
        let known = 10 * mebibyte..<10 * mebibyte + (512 << 10)
        var fixture = PlanFixture(received: IntervalSet(known))
        fixture.receive(10 * mebibyte, 1)
        #expect(fixture.open == [1: 10 * mebibyte..<64 * mebibyte])
        #expect(fixture.receive(mebibyte, 1) == [known.upperBound..<11 * mebibyte])
    }

    @Test func `a long received range ends the segment, and what is behind it is requested`() {
        var fixture = PlanFixture(length: 128 * mebibyte, received: IntervalSet(10 * mebibyte..<60 * mebibyte))
        fixture.receive(10 * mebibyte, 1)
        #expect(fixture.table.exhausted(fixture.received).map(\.id) == [1])
        #expect(fixture.table.unassigned(fixture.received) == [60 * mebibyte..<128 * mebibyte])
    }

    @Test func `what is behind a long received range is requested before anything is divided`() {
        var fixture = PlanFixture(length: 128 * mebibyte, received: IntervalSet(10 * mebibyte..<60 * mebibyte))
        #expect(fixture.request(1, from: 2) == [60 * mebibyte..<128 * mebibyte])
        _ = fixture.accept(2)
        // The received bytes before the limit don't have to be awaited.
        fixture.receive(10 * mebibyte, 1)
        #expect(fixture.table.exhausted(fixture.received).map(\.id) == [1])
        #expect(fixture.request(1, from: 3) == [94 * mebibyte..<128 * mebibyte])
    }

    @Test func `at a high rate a longer range is received again`() {
        var fixture = PlanFixture(length: 1024 * mebibyte, received: IntervalSet(300 * mebibyte..<304 * mebibyte))
        fixture.table.remove(1)
        fixture.table.request(0..<1024 * mebibyte, by: 2, at: .zero)
        fixture.now = .milliseconds(100)
        _ = fixture.accept(2, 0)
        fixture.receive(at: [2: 100], seconds: 3)
        // 10 MiB arrive while another connection would be set up.
        #expect(fixture.open == [2: 300 * mebibyte..<1024 * mebibyte])
    }
}
