internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite(.endsWhenHung)
struct ConnectionCollapseTests {
    @Test func `a rate that halves while another file tries its connections is watched on`() {
        var fixture = ControllerFixture(effectiveCount: 8)
        fixture.run(40) { _, _ in 100 }
        fixture.controller.disturbed(by: .otherNumber, at: fixture.now)
        let count = fixture.controller.number
        fixture.run(6) { _, _ in 10 }
        #expect(fixture.controller.number == count / 2)
    }

    @Test func `what another file gains is no collapse`() {
        var fixture = ControllerFixture(effectiveCount: 8)
        fixture.run(40) { _, _ in 100 }
        let number = fixture.controller.number
        fixture.run(10, others: { _, _ in 60 }, rate: { _, _ in 40 })
        #expect(fixture.controller.number == number)
        fixture.run(10, others: { _, _ in 20 }, rate: { _, _ in 4 })
        #expect(fixture.controller.number < number)
    }

    @Test func `a time without any byte says nothing about the number`() {
        var fixture = ControllerFixture()
        fixture.run(20) { count, _ in Double(count) * 10 }
        fixture.run(7.0625) { _, _ in 0 }
        fixture.run(20) { count, _ in Double(count) * 10 }
        #expect(fixture.numbers == [1, 2, 10, 16])
        fixture = ControllerFixture()
        fixture.runUntilStep()
        fixture.run(10) { _, _ in 0 }
        fixture.run(40) { count, _ in Double(count) * 10 }
        #expect(fixture.controller.effectiveCount == 16 && fixture.controller.number == 16)
    }

    @Test func `a rate that collapses halves the number, again and again`() {
        var fixture = ControllerFixture()
        fixture.run(20) { count, _ in Double(count) * 10 }
        #expect(fixture.controller.number == 16)
        fixture.run(6) { _, _ in 1.6 }
        #expect(fixture.controller.number == 8)
        fixture.run(15) { _, _ in 1.6 }
        #expect(fixture.controller.number == 4)
        // The number that has collapsed isn't exceeded for ten minutes.
        fixture.run(400) { count, _ in Double(count) * 10 }
        #expect(fixture.controller.number == 4)
        fixture.run(400) { count, _ in Double(count) * 10 }
        #expect(fixture.controller.number == 16)
    }
}
