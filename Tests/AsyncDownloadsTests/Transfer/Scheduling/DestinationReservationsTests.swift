internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Reservations of destinations by transfers.
@Suite(.endsWhenHung)
struct DestinationReservationsTests {
    private let first = HashDigest(1)
    private let second = HashDigest(2)

    @Test
    func `a path belongs to one resource until its last subscriber is detached`() {
        let reservations = DestinationReservations()
        #expect(reservations.reserve("/d/f", for: first) == nil)
        #expect(reservations.reserve("/d/f", for: first) == nil)
        #expect(reservations.reserve("/d/f", for: second) == first)
        #expect(reservations.reserve("/d/g", for: second) == nil)
        reservations.release("/d/f", for: first, wasClosing: false)
        #expect(reservations.reserve("/d/f", for: second) == first)
        reservations.release("/d/f", for: first, wasClosing: false)
        #expect(reservations.reserve("/d/f", for: second) == nil)
        #expect(reservations.reserve("/d/g", for: first) == second)
    }

    @Test
    func `a closing path can be reserved for one next resource, which waits until it is free`() async {
        let reservations = DestinationReservations()
        let third = HashDigest(3)
        #expect(reservations.reserve("/d/f", for: first) == nil)
        #expect(reservations.reserve("/d/f", for: first) == nil)
        reservations.close("/d/f", for: first)
        #expect(reservations.reserve("/d/f", for: second) == first, "another subscriber still uses the path")
        reservations.close("/d/f", for: first)
        #expect(reservations.reserve("/d/f", for: second) == nil)
        #expect(reservations.reserve("/d/f", for: second) == nil)
        #expect(reservations.reserve("/d/f", for: third) == second)
        let isFree = Mutex(false)
        let waiting = Task.detached { [second] in
            reservations.waitUntilFree("/d/f", for: second)
            return isFree.withLock { $0 }
        }
        reservations.release("/d/f", for: first, wasClosing: true)
        isFree.withLock { $0 = true }
        reservations.release("/d/f", for: first, wasClosing: true)
        #expect(await waiting.value)
        reservations.waitUntilFree("/d/f", for: second)
        reservations.release("/d/f", for: second, wasClosing: false)
        #expect(reservations.reserve("/d/f", for: third) == second)
        reservations.release("/d/f", for: second, wasClosing: false)
        #expect(reservations.reserve("/d/f", for: third) == nil)
    }

    @Test
    func `a reservation that closes while it is the next one still counts as closing afterwards`() {
        let reservations = DestinationReservations()
        let third = HashDigest(3)
        #expect(reservations.reserve("/d/f", for: first) == nil)
        reservations.close("/d/f", for: first)
        #expect(reservations.reserve("/d/f", for: second) == nil)
        #expect(reservations.reserve("/d/f", for: second) == nil)
        reservations.close("/d/f", for: second)
        reservations.release("/d/f", for: first, wasClosing: true)
        #expect(reservations.reserve("/d/f", for: third) == second, "one subscriber still uses the path")
        reservations.close("/d/f", for: second)
        #expect(reservations.reserve("/d/f", for: third) == nil)
        reservations.release("/d/f", for: second, wasClosing: true)
        #expect(!reservations.isFree("/d/f", for: third))
        reservations.release("/d/f", for: second, wasClosing: true)
        #expect(reservations.isFree("/d/f", for: third))
        #expect(!reservations.isFree("/d/f", for: first))
    }

    @Test
    func `the next reservation can be released before the present one`() {
        let reservations = DestinationReservations()
        #expect(reservations.reserve("/d/f", for: first) == nil)
        reservations.close("/d/f", for: first)
        #expect(reservations.reserve("/d/f", for: second) == nil)
        reservations.release("/d/f", for: second, wasClosing: false)
        reservations.release("/d/f", for: first, wasClosing: true)
        #expect(reservations.isFree("/d/f", for: HashDigest(3)))
    }

    @Test
    func `names with different bytes of equivalent characters are different paths`() {
        let reservations = DestinationReservations()
        #expect(reservations.reserve("/d/\u{E9}", for: first) == nil)
        #expect(reservations.reserve("/d/e\u{301}", for: second) == nil)
    }

    @Test
    func `an active reservation keeps the path when a closing one is released`() {
        let reservations = DestinationReservations()
        #expect(reservations.reserve("/d/f", for: first) == nil)
        reservations.close("/d/f", for: first)
        #expect(reservations.reserve("/d/f", for: first) == nil)
        reservations.release("/d/f", for: first, wasClosing: true)
        #expect(reservations.reserve("/d/f", for: second) == first)
        reservations.release("/d/f", for: first, wasClosing: false)
        #expect(reservations.reserve("/d/f", for: second) == nil)
    }

    @Test
    func `a next resource that is released before the path is free has no further effect`() {
        let reservations = DestinationReservations()
        #expect(reservations.reserve("/d/f", for: first) == nil)
        reservations.close("/d/f", for: first)
        #expect(reservations.reserve("/d/f", for: second) == nil)
        reservations.release("/d/f", for: second, wasClosing: false)
        let third = HashDigest(3)
        #expect(reservations.reserve("/d/f", for: third) == nil)
        reservations.release("/d/f", for: first, wasClosing: true)
        #expect(reservations.reserve("/d/f", for: second) == third)
    }

    @Test
    func `a reserved path is free only for its own resource`() {
        let reservations = DestinationReservations()
        #expect(reservations.isFree("/d/f", for: second))
        #expect(reservations.reserve("/d/f", for: first) == nil)
        #expect(!reservations.isFree("/d/f", for: second))
        #expect(reservations.isFree("/d/f", for: first))
        reservations.release("/d/f", for: first, wasClosing: false)
        #expect(reservations.isFree("/d/f", for: second))
    }
}
