internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite(.endsWhenHung)
struct TransferPermitTests {
    private static let tickets = (1...3).map { PermitQueue.Ticket(number: $0, slot: 0) }
    private static let ids = (1...3).map { PermitRequestID(rawValue: $0) }

    @Test func `only the ticket of the last request has an identifier`() {
        var permit = TransferPermit()
        #expect(permit.ticket == nil)
        permit.requested(Self.tickets[0], as: Self.ids[0], priority: .normal)
        #expect(permit.id(of: Self.tickets[0]) == Self.ids[0])
        #expect(permit.take() == Self.tickets[0])
        #expect(permit.id(of: Self.tickets[0]) == nil)
        permit.requested(Self.tickets[1], as: Self.ids[1], priority: .normal)
        permit.moved(as: Self.ids[2])
        #expect(permit.id(of: Self.tickets[0]) == nil)
        #expect(permit.id(of: Self.tickets[1]) == Self.ids[2])
    }

    @Test func `the first ticket is the place in line of all requests`() {
        var permit = TransferPermit(place: Self.tickets[0])
        permit.requested(Self.tickets[1], as: Self.ids[0], priority: .normal)
        #expect(permit.place == Self.tickets[0])
        permit = TransferPermit()
        for ticket in Self.tickets {
            permit.requested(ticket, as: Self.ids[0], priority: .normal)
            permit.take()
        }
        #expect(permit.place == Self.tickets[0])
    }

    @Test func `the scheduler has to know a priority that has changed, as long as there is a ticket`() {
        var permit = TransferPermit()
        #expect(permit.setPriority(.high) == nil)
        permit.requested(Self.tickets[0], as: Self.ids[0], priority: .normal)
        #expect(permit.setPriority(.normal) == nil)
        #expect(permit.setPriority(.high) == Self.tickets[0])
        #expect(permit.setPriority(.high) == nil)
    }
}
