internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// The queue in any order of operations, compared with a reference implementation, and its cost.
@Suite(.endsWhenHung)
struct PermitQueueModelTests {
    @Test(arguments: Seeds.first(40))
    func `in any order of operations, the queue grants the same as the reference queue`(_ seed: UInt64) throws {
        var generator = SplitMix64(seed: seed)
        let limit = Int.random(in: 1...6, using: &generator)
        let openLimit = Int.random(in: limit...2 * limit, using: &generator)
        let limitPerHost = Int.random(in: 1...4, using: &generator)
        let hostCount = Int.random(in: 1...5, using: &generator)
        let arrivals = Int.random(in: 1...4, using: &generator)
        var queue = PermitQueue(limit: limit, openLimit: openLimit, limitPerHost: limitPerHost)
        var reference = ReferencePermitQueue(limit: limit, openLimit: openLimit, limitPerHost: limitPerHost)
        // The tickets by their numbers, after one that was never issued.
        var tickets = [PermitQueue.Ticket(number: 0, slot: 0)]
        for step in 0..<400 {
            let host = "host\(Int.random(in: 0..<hostCount, using: &generator))"
            let priority = try #require(
                [DownloadRequest.Priority.low, .normal, .high].randomElement(using: &generator))
            let number = Int.random(in: 0...reference.lastTicket, using: &generator)
            let ticket = tickets[number]
            let holder =
                reference.requests.filter { $0.stage != .waiting }.randomElement(using: &generator)?.ticket ?? number
            switch Int.random(in: 0..<10 + arrivals, using: &generator) {
            case 0:
                queue.release(ticket)
                reference.release(number)
            case 1, 2:
                queue.release(tickets[holder])
                reference.release(holder)
            case 3:
                queue.setPriority(priority, of: ticket)
                reference.setPriority(priority, of: number)
            case 4:
                let isMoved = (queue.move(ticket, to: host), reference.move(number, to: host))
                try #require(isMoved.0 == isMoved.1)
            case 5:
                let isMoved = (queue.move(tickets[holder], to: host), reference.move(holder, to: host))
                try #require(isMoved.0 == isMoved.1)
            case 6:
                queue.yield(ticket)
                reference.yield(number)
            case 7:
                queue.yield(tickets[holder])
                reference.yield(holder)
            case 8, 9:
                try #require(queue.grant().map(\.number) == reference.grant(), "seed \(seed), step \(step)")
                try #require(
                    tickets.allSatisfy { queue.stage(of: $0) == reference.stage(of: $0.number) })
            default:
                let hasPlace = Bool.random(using: &generator) && number > 0
                let enqueued = queue.enqueue(host: host, priority: priority, place: hasPlace ? ticket : nil)
                #expect(
                    enqueued.number
                        == reference.enqueue(host: host, priority: priority, place: hasPlace ? number : nil))
                tickets.append(enqueued)
            }
            try #require(queue.holderCount == reference.holderCount, "seed \(seed), step \(step)")
            try #require(queue.holderCount <= limit, "seed \(seed), step \(step)")
            try #require(queue.finishingCount == reference.finishingCount, "seed \(seed), step \(step)")
            try #require(queue.holderCount + queue.finishingCount <= openLimit, "seed \(seed), step \(step)")
            try #require(queue.waitingCount == reference.requests.count { $0.stage == .waiting })
        }
        for request in reference.requests { queue.release(tickets[request.ticket]) }
        let empty = PermitQueue(limit: limit, openLimit: openLimit, limitPerHost: limitPerHost)
        #expect(valueCount(in: queue) == valueCount(in: empty))
    }

    @Test(arguments: [1, 1000], [false, true])
    func `the queue retains no value of a released request`(hostCount: Int, isReversed: Bool) {
        func makeQueue() -> PermitQueue {
            var queue = PermitQueue(limit: 3, limitPerHost: 2)
            for number in 0..<10 { _ = queue.enqueue(host: "\(number % 3)", priority: .normal) }
            _ = queue.grant()
            return queue
        }
        var queue = makeQueue()
        let tickets = (0..<4000).map { number in
            queue.enqueue(host: "\(number % hostCount)", priority: [.low, .normal, .high][number % 3])
        }
        for ticket in tickets where ticket.number % 2 == 0 { queue.setPriority(.high, of: ticket) }
        for ticket in isReversed ? tickets.reversed() : tickets { queue.release(ticket) }
        #expect(valueCount(in: queue) == valueCount(in: makeQueue()))
    }

    @Test
    func `of ten thousand requests, each one that was not released is granted once`() {
        var queue = PermitQueue(limit: 6, limitPerHost: 2)
        let tickets = (0..<10_000).map { number in
            queue.enqueue(host: "\(number % 1000)", priority: [.low, .normal, .high][number % 3])
        }
        for ticket in tickets where ticket.number % 2 == 0 { queue.release(ticket) }
        #expect(queue.runEach().sorted() == tickets.filter { $0.number % 2 != 0 })
        #expect(valueCount(in: queue) == valueCount(in: PermitQueue(limit: 6, limitPerHost: 2)))
    }

    @Test
    func `a heap returns its elements in order with O(log n) comparisons for each change`() {
        var generator = SplitMix64(seed: 1)
        let comparisons = Comparisons()
        var heap = Heap<Int, Counted>()
        var expected: [Int: Int] = [:]
        let count = 4096
        for key in 0..<count {
            let value = Int.random(in: 0..<1_000_000, using: &generator)
            heap[key] = Counted(value: value, comparisons: comparisons)
            heap[key] = Counted(value: value / 2, comparisons: comparisons)
            expected[key] = value / 2
        }
        for key in stride(from: 0, to: count, by: 3) {
            heap[key] = nil
            expected[key] = nil
        }
        #expect(expected.allSatisfy { heap[$0.key]?.value == $0.value })
        var values: [Int] = []
        while let (key, order) = heap.first {
            heap[key] = nil
            values.append(order.value)
        }
        #expect(values == expected.values.sorted())
        // Each element is changed three times, with at most two comparisons per level and one more at each end.
        #expect(comparisons.count < 3 * count * (2 * 12 + 2))
    }
}

/// Returns the number of values in a value, counted recursively.
private func valueCount(in value: Any) -> Int {
    Mirror(reflecting: value).children.reduce(1) { $0 + valueCount(in: $1.value) }
}

/// The number of comparisons in a test, which runs on one thread.
private final class Comparisons: @unchecked Sendable {  // One thread runs the test.
    var count = 0
}

private struct Counted: Comparable, Sendable {
    let value: Int
    let comparisons: Comparisons

    static func == (left: Self, right: Self) -> Bool { left.value == right.value }

    static func < (left: Self, right: Self) -> Bool {
        left.comparisons.count += 1
        return left.value < right.value
    }
}
