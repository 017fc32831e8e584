import TestSupport
import Testing

@testable import AsyncDownloads

/// Tests of the order in which the parts of a body are passed to a handler.
@Suite(.endsWhenHung) struct PartQueueTests {
    /// A part whose bytes are consecutive numbers.
    private struct Part: BodyPart, Equatable {
        var bytes: Range<Int>
        var isCompact = false

        var length: Int { bytes.count }

        mutating func removeFirst(_ length: Int) -> Self {
            defer { bytes = bytes.lowerBound + length..<bytes.upperBound }
            return Self(bytes: bytes.lowerBound..<bytes.lowerBound + length)
        }

        mutating func append(_ part: Self) {
            precondition(part.bytes.lowerBound == bytes.upperBound, "the order changed")
            bytes = bytes.lowerBound..<part.bytes.upperBound
        }

        func compacted() -> Self { Self(bytes: bytes, isCompact: true) }
    }

    private var queue = PartQueue<Part>(leastLength: 100, joinedLength: 200, capacity: 300)

    /// Lets a part with these bytes arrive.
    private mutating func arrive(
        _ bytes: Range<Int>, longest: Int? = nil, passesLarge: Bool = false
    ) -> PartQueue<Part>.Decision {
        queue.arrived(Part(bytes: bytes), longest: longest, passesLarge: passesLarge)
    }

    @Test mutating func `a small part is passed at once, a large one is queued`() {
        #expect(arrive(0..<99) == .pass)
        #expect(arrive(99..<199) == .queued(isFirst: true))
        #expect(queue.next(longest: nil)?.bytes == 99..<199)
    }

    @Test mutating func `a large part that may be passed at once is queued behind another one, or if it is too long`() {
        #expect(arrive(0..<200, passesLarge: true) == .pass)
        #expect(arrive(200..<400, longest: 199, passesLarge: true) == .queued(isFirst: true))
        #expect(arrive(400..<600, passesLarge: true) == .queued(isFirst: false))
    }

    @Test mutating func `a large part that waits only for others fills the queue until it is empty`() {
        #expect(arrive(0..<150) == .queued(isFirst: true))
        #expect(!queue.isFull)
        #expect(arrive(150..<290, passesLarge: true) == .queued(isFirst: false))
        #expect(queue.isFull)
        for _ in 0..<2 {
            #expect(queue.isFull)
            _ = queue.next(longest: nil)
            _ = queue.passed()
        }
        #expect(!queue.isFull)
        #expect(arrive(290..<390) == .queued(isFirst: true))
        #expect(!queue.isFull)
    }

    @Test mutating func `a queue that empties slowly is filled up to its capacity`() {
        #expect(arrive(0..<150) == .queued(isFirst: true))
        #expect(arrive(150..<290, passesLarge: true) == .queued(isFirst: false))
        #expect(queue.isFull)
        queue.stopDraining()
        #expect(!queue.isFull)
    }

    @Test mutating func `a queue that the handler holds back is filled up to its capacity`() {
        #expect(arrive(0..<100, passesLarge: true) == .pass)
        queue.heldBack(Part(bytes: 0..<100))
        #expect(arrive(100..<200, passesLarge: true) == .queued(isFirst: false))
        #expect(!queue.isFull)
    }

    @Test mutating func `without a least length, a part is queued only behind another one or if it is too long`() {
        queue = PartQueue(leastLength: .max, joinedLength: 200, capacity: 300)
        #expect(arrive(0..<1000) == .pass)
        #expect(arrive(1000..<2000, longest: 900) == .queued(isFirst: true))
        #expect(arrive(2000..<3000) == .queued(isFirst: false))
    }

    @Test mutating func `a small part does not pass a queued one, nor one that is being passed`() {
        _ = arrive(0..<200)
        _ = queue.next(longest: nil)
        #expect(arrive(200..<201) == .queued(isFirst: false))
        #expect(queue.passed().hasNext)
        #expect(queue.next(longest: nil)?.bytes == 200..<201)
        #expect(!queue.passed().hasNext)
        #expect(arrive(201..<202) == .pass)
    }

    @Test mutating func `small parts that wait are joined, and keep no more memory than they need`() {
        _ = arrive(0..<200)
        _ = queue.next(longest: nil)
        for byte in 200..<500 { _ = arrive(byte..<byte + 1) }
        let lengths = (0..<2).map { _ in
            _ = queue.passed()
            let part = queue.next(longest: nil)
            #expect(part?.isCompact == true)
            return part?.length
        }
        #expect(lengths == [200, 100])
        #expect(!queue.passed().hasNext)
    }

    @Test mutating func `a part is divided by what the handler takes when it is passed`() {
        #expect(arrive(0..<50, longest: 50) == .pass)
        #expect(arrive(0..<90, longest: 40) == .queued(isFirst: true))
        #expect(queue.next(longest: 40)?.bytes == 0..<40)
        #expect(queue.passed().hasNext)
        #expect(queue.next(longest: 10)?.bytes == 40..<50)
        #expect(queue.passed().hasNext)
        #expect(queue.next(longest: nil)?.bytes == 50..<90)
        #expect(!queue.passed().hasNext)
    }

    @Test mutating func `the queue is full until enough bytes are passed`() {
        _ = arrive(0..<200)
        #expect(!queue.isFull)
        _ = arrive(200..<320)
        #expect(queue.isFull)
        _ = queue.next(longest: 10)
        #expect(queue.isFull)
        _ = queue.passed()
        _ = queue.next(longest: 11)
        _ = queue.passed()
        #expect(!queue.isFull)
    }

    @Test mutating func `a small part that holds the handler back is followed by queued parts`() {
        #expect(arrive(0..<10) == .pass)
        queue.heldBack(Part(bytes: 0..<10))
        #expect(queue.isHeldBack)
        #expect(arrive(10..<20) == .queued(isFirst: false))
        #expect(queue.ended(.complete) == nil)
        let first = queue.passed()
        #expect(first.hasNext && first.end == nil && !queue.isHeldBack)
        #expect(queue.next(longest: nil)?.bytes == 10..<20)
        #expect(queue.passed().end != nil)
        #expect(!queue.isFull)
    }

    @Test mutating func `the end waits for the queued parts and is reported once`() {
        _ = arrive(0..<200)
        _ = arrive(200..<400)
        #expect(queue.ended(.complete) == nil)
        #expect(queue.ended(.cancelled) == nil)
        _ = queue.next(longest: nil)
        #expect(queue.passed().end == nil)
        _ = queue.next(longest: nil)
        guard case .complete? = queue.passed().end else {
            Issue.record("the first end is reported behind the last part")
            return
        }
        #expect(queue.ended(.cancelled) == nil)
    }

    @Test mutating func `an end without queued parts is reported at once`() {
        _ = arrive(0..<100)
        _ = queue.next(longest: nil)
        _ = queue.passed()
        #expect(queue.ended(.complete) != nil)
        #expect(queue.ended(.complete) == nil)
    }
}
