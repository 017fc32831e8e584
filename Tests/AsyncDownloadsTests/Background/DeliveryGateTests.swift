internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite(.endsWhenHung)
struct DeliveryGateTests {
    @Test func `background 5: events before the match are kept in order, and later ones pass`() {
        var gate = DeliveryGate<Int>()
        #expect(gate.receive(1) == [])
        #expect(gate.receive(2) == [])
        #expect(gate.heldEvents == [1, 2])
        #expect(gate.open() == [1, 2])
        #expect(gate.isOpen)
        #expect(gate.heldEvents == [])
        #expect(gate.receive(3) == [3])
        #expect(gate.open() == [], "an event must not be processed twice")
    }
}
