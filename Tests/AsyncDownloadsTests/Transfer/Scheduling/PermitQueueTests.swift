internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// The queue of requests for permits: limits, order, age, and moves between hosts (rule 58).
@Suite(.endsWhenHung)
struct PermitQueueTests {
    @Test
    func `the next permit goes to a host with fewer running transfers, regardless of the backlog of another one`() {
        var queue = PermitQueue(limit: 4, limitPerHost: 4)
        let slow = (0..<250).map { _ in queue.enqueue(host: "slow", priority: .normal) }
        #expect(queue.grant() == Array(slow[0..<4]))
        let other = queue.enqueue(host: "other", priority: .normal)
        queue.release(slow[0])
        #expect(queue.grant() == [other])
        // A higher priority comes first.
        let urgent = queue.enqueue(host: "slow", priority: .high)
        _ = queue.enqueue(host: "third", priority: .normal)
        queue.release(slow[1])
        #expect(queue.grant() == [urgent])
    }

    @Test(arguments: [(1, 1, 1), (3, 9, 3), (9, 2, 4), (9, 9, 6), (0, 9, 1), (9, -1, 2)])
    func `rule 58: no more requests than the limits allow run at the same time`(
        _ limit: Int, _ perHost: Int, _ granted: Int
    ) {
        var queue = PermitQueue(limit: limit, limitPerHost: perHost)
        for number in 0..<6 { _ = queue.enqueue(host: "host\(number % 2)", priority: .normal) }
        let tickets = queue.grant()
        #expect(tickets.count == granted)
        #expect(queue.holderCount == granted)
        #expect(queue.waitingCount == 6 - granted)
        #expect(queue.grant() == [])
    }

    @Test
    func `a transfer that places its file leaves its permit to another one, as long as few files are open`() {
        var queue = PermitQueue(limit: 2, openLimit: 3, limitPerHost: 1)
        let tickets = ["a", "a", "b", "a", "b"].map { queue.enqueue(host: $0, priority: .normal) }
        #expect(queue.grant() == [tickets[0], tickets[2]])
        queue.yield(tickets[0])
        #expect(queue.stage(of: tickets[0]) == .finishing)
        #expect(queue.grant() == [tickets[1]])
        // A fourth open file is too many, although the limit and the host allow one more transfer.
        queue.yield(tickets[2])
        #expect(queue.grant() == [])
        #expect(queue.isWaiting(for: "c"), "all permits that the files allow are in use")
        // A request that waits or that has yielded has no permit to yield or to move.
        queue.yield(tickets[3])
        queue.yield(tickets[0])
        let isMoved = queue.move(tickets[0], to: "c")
        #expect(!isMoved)
        #expect((queue.holderCount, queue.finishingCount, queue.waitingCount) == (1, 2, 2))
        queue.release(tickets[0])
        #expect(queue.grant() == [tickets[4]])
        for ticket in tickets { queue.release(ticket) }
        #expect(queue.isEmpty)
        #expect((queue.holderCount, queue.finishingCount) == (0, 0))
    }

    @Test
    func `the highest priority goes first, and within a priority the oldest request`() {
        var queue = PermitQueue(limit: 1, limitPerHost: 1)
        let tickets = [DownloadRequest.Priority.low, .normal, .high, .normal, .high].map {
            queue.enqueue(host: "a", priority: $0)
        }
        #expect(queue.runEach() == [2, 4, 1, 3, 0].map { tickets[$0] })
    }

    @Test
    func `a request with the place of an earlier one goes before later ones of its priority`() {
        var queue = PermitQueue(limit: 1, limitPerHost: 1)
        let first = queue.enqueue(host: "a", priority: .normal)
        #expect(queue.grant() == [first])
        let second = queue.enqueue(host: "a", priority: .normal)
        let urgent = queue.enqueue(host: "a", priority: .high)
        queue.release(first)
        let retry = queue.enqueue(host: "b", priority: .normal, place: first)
        #expect(retry > urgent)
        #expect(queue.runEach() == [urgent, retry, second])
    }

    @Test
    func `a host at its limit delays only its own requests`() {
        var queue = PermitQueue(limit: 3, limitPerHost: 1)
        let first = queue.enqueue(host: "a", priority: .high)
        let second = queue.enqueue(host: "a", priority: .high)
        let other = queue.enqueue(host: "b", priority: .low)
        #expect(queue.grant() == [first, other])
        queue.release(other)
        #expect(queue.grant() == [])
        queue.release(first)
        #expect(queue.grant() == [second])
    }

    @Test
    func `a released request gets no permit, and releasing an unknown ticket has no effect`() {
        var queue = PermitQueue(limit: 1, limitPerHost: 1)
        let holder = queue.enqueue(host: "a", priority: .normal)
        let canceled = queue.enqueue(host: "a", priority: .normal)
        #expect(queue.grant() == [holder])
        #expect([holder, canceled, unknown].map { queue.stage(of: $0) } == [.running, .waiting, nil])
        queue.release(canceled)
        queue.release(canceled)
        queue.release(holder)
        queue.release(holder)
        queue.release(unknown)
        #expect(queue.grant() == [])
        let next = queue.enqueue(host: "a", priority: .normal)
        #expect(queue.grant() == [next])
        #expect(queue.holderCount == 1)
    }

    @Test
    func `a waiting request's priority can be raised and lowered, and unknown tickets are ignored`() {
        var queue = PermitQueue(limit: 1, limitPerHost: 1)
        let tickets = (0..<4).map { _ in queue.enqueue(host: "a", priority: .normal) }
        queue.setPriority(.high, of: tickets[2])
        queue.setPriority(.low, of: tickets[0])
        queue.setPriority(.high, of: tickets[3])
        queue.setPriority(.normal, of: tickets[3])
        queue.setPriority(.high, of: unknown)
        #expect(queue.runEach() == [2, 1, 3, 0].map { tickets[$0] })
    }

    @Test
    func `changing the priority of a running request has no effect`() {
        var queue = PermitQueue(limit: 3, limitPerHost: 1)
        let tickets = ["a", "b", "c"].map { queue.enqueue(host: $0, priority: .low) }
        #expect(queue.grant() == tickets)
        queue.setPriority(.high, of: tickets[2])
        #expect(queue.grant() == [])
        #expect((queue.holderCount, queue.waitingCount) == (3, 0))
    }

    @Test
    func `moving a request frees capacity at its old host and uses capacity at the new one`() {
        var queue = PermitQueue(limit: 3, limitPerHost: 1)
        let mover = queue.enqueue(host: "a", priority: .normal)
        let successor = queue.enqueue(host: "a", priority: .normal)
        let other = queue.enqueue(host: "b", priority: .normal)
        #expect(queue.grant() == [mover, other])
        do {
            let isMoved = queue.move(mover, to: "c")
            #expect(isMoved)
        }
        #expect(queue.grant() == [successor])
        let late = queue.enqueue(host: "c", priority: .normal)
        #expect(queue.grant() == [])
        queue.release(mover)
        #expect(queue.grant() == [late])
        #expect((queue.holderCount, queue.waitingCount) == (3, 0))
    }

    @Test
    func `a request that moves to a host at its limit loses its permit to others`() {
        var queue = PermitQueue(limit: 2, limitPerHost: 1)
        let mover = queue.enqueue(host: "a", priority: .normal)
        let holder = queue.enqueue(host: "b", priority: .normal)
        let waiting = queue.enqueue(host: "c", priority: .normal)
        #expect(queue.grant() == [mover, holder])
        do {
            let isMoved = queue.move(mover, to: "b")
            #expect(!isMoved)
        }
        #expect(queue.stage(of: mover) == nil)
        #expect(queue.grant() == [waiting])
        let again = queue.enqueue(host: "b", priority: .normal, place: mover)
        let younger = queue.enqueue(host: "b", priority: .normal)
        queue.release(holder)
        #expect(queue.grant() == [again])
        queue.release(again)
        #expect(queue.grant() == [younger])
    }

    @Test
    func `moving to the same host has no effect, and a request without a permit cannot move`() {
        var queue = PermitQueue(limit: 1, limitPerHost: 1)
        let holder = queue.enqueue(host: "a", priority: .normal)
        let waiting = queue.enqueue(host: "a", priority: .normal)
        #expect(queue.grant() == [holder])
        do {
            let isMoved = queue.move(holder, to: "a")
            #expect(isMoved)
        }
        do {
            let isMoved = queue.move(waiting, to: "b")
            #expect(!isMoved)
        }
        do {
            let isMoved = queue.move(unknown, to: "b")
            #expect(!isMoved)
        }
        #expect(queue.grant() == [])
        #expect((queue.holderCount, queue.waitingCount) == (1, 1))
    }

    /// A ticket that the queue has not issued.
    private let unknown = PermitQueue.Ticket(number: 99, slot: 0)
}
