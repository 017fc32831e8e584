import TestSupport
import Testing

@testable import AsyncDownloads

/// Tests of the order in which the parts of a body are passed to a handler.
@Suite(.endsWhenHung) struct PartQueueTests {
    private var queue = PartQueue<Int>(leastLength: 100, capacity: 300)

    @Test mutating func `a small part is passed at once, a large one is queued`() {
        #expect(queue.arrived(1, length: 99) == .pass)
        #expect(queue.arrived(2, length: 100) == .queued(isFirst: true))
        #expect(queue.first == 2)
    }

    @Test mutating func `a small part does not pass a queued one`() {
        _ = queue.arrived(1, length: 100)
        #expect(queue.arrived(2, length: 1) == .queued(isFirst: false))
        _ = queue.passedFirst()
        #expect(queue.first == 2)
        _ = queue.passedFirst()
        #expect(queue.first == nil)
        #expect(queue.arrived(3, length: 1) == .pass)
    }

    @Test mutating func `the queue is full until a part is passed`() {
        for part in 1...2 { _ = queue.arrived(part, length: 100) }
        #expect(!queue.isFull)
        _ = queue.arrived(3, length: 100)
        #expect(queue.isFull)
        _ = queue.passedFirst()
        #expect(!queue.isFull)
    }

    @Test mutating func `a small part that holds the handler back is followed by queued parts`() {
        #expect(queue.arrived(1, length: 10) == .pass)
        queue.heldBack(1, length: 10)
        #expect(queue.isHeldBack)
        #expect(queue.arrived(2, length: 10) == .queued(isFirst: false))
        #expect(!queue.isFull)
        #expect(queue.ended(.complete) == nil)
        #expect(queue.passedFirst() == nil && queue.first == 2 && !queue.isHeldBack)
        #expect(queue.passedFirst() != nil)
    }

    @Test mutating func `only the part that is passed holds the queue back`() {
        for part in 1...2 { _ = queue.arrived(part, length: 100) }
        queue.isHeldBack = true
        _ = queue.passedFirst()
        #expect(!queue.isHeldBack)
    }

    @Test mutating func `pieces of a part are queued whatever their length`() {
        #expect(queue.arrived(pieces: [(1, 90), (2, 90), (3, 90), (4, 30)]) == .queued(isFirst: true))
        #expect(queue.isFull && queue.first == 1)
        #expect(queue.arrived(pieces: [(5, 1)]) == .queued(isFirst: false))
        for part in 2...5 {
            _ = queue.passedFirst()
            #expect(queue.first == part)
        }
    }

    @Test mutating func `the end waits for the queued parts and is reported once`() {
        for part in 1...2 { _ = queue.arrived(part, length: 100) }
        #expect(queue.ended(.complete) == nil)
        #expect(queue.ended(.cancelled) == nil)
        #expect(queue.passedFirst() == nil)
        guard case .complete? = queue.passedFirst() else {
            Issue.record("the first end is reported behind the last part")
            return
        }
        #expect(queue.ended(.cancelled) == nil)
    }

    @Test mutating func `an end without queued parts is reported at once`() {
        _ = queue.arrived(1, length: 100)
        _ = queue.passedFirst()
        #expect(queue.ended(.complete) != nil)
        #expect(queue.ended(.complete) == nil)
    }
}
