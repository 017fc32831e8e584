internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite("PermitQueue", .endsWhenHung)
struct PermitQueueTests {
    @Test(
        "rule 58: no more than the limits allow run at once",
        arguments: [(1, 1, 1), (3, 9, 3), (9, 2, 4), (9, 9, 6), (0, 9, 1), (9, -1, 2)])
    func limits(_ limit: Int, _ perHost: Int, _ granted: Int) {
        var queue = PermitQueue(limit: limit, limitPerHost: perHost)
        for number in 0..<6 { _ = queue.enqueue(host: "host\(number % 2)", priority: .normal) }
        let tickets = queue.grant()
        #expect(tickets.count == granted)
        #expect(queue.holderCount == granted)
        #expect(queue.waitingCount == 6 - granted)
        #expect(queue.grant() == [])
    }

    @Test("the highest priority goes first, and within a priority the request that came first")
    func order() {
        var queue = PermitQueue(limit: 1, limitPerHost: 1)
        let tickets = [DownloadRequest.Priority.low, .normal, .high, .normal, .high].map {
            queue.enqueue(host: "a", priority: $0)
        }
        #expect(queue.runEach() == [2, 4, 1, 3, 0].map { tickets[$0] })
    }

    @Test("a request with the place of an earlier one goes before later ones of its priority")
    func place() {
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

    @Test("a host at its limit holds back only its own requests")
    func hosts() {
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

    @Test("a request that leaves the queue gets no permit, and an unknown ticket may be released")
    func leaving() {
        var queue = PermitQueue(limit: 1, limitPerHost: 1)
        let holder = queue.enqueue(host: "a", priority: .normal)
        let leaver = queue.enqueue(host: "a", priority: .normal)
        #expect(queue.grant() == [holder])
        #expect([holder, leaver, 99].map { queue.stage(of: $0) } == [.running, .waiting, nil])
        queue.release(leaver)
        queue.release(leaver)
        queue.release(holder)
        queue.release(holder)
        queue.release(99)
        #expect(queue.grant() == [])
        let next = queue.enqueue(host: "a", priority: .normal)
        #expect(queue.grant() == [next])
        #expect(queue.holderCount == 1)
    }

    @Test("a priority can be raised and lowered while a request waits, and unknown tickets have none")
    func changedPriority() {
        var queue = PermitQueue(limit: 1, limitPerHost: 1)
        let tickets = (0..<4).map { _ in queue.enqueue(host: "a", priority: .normal) }
        queue.setPriority(.high, of: tickets[2])
        queue.setPriority(.low, of: tickets[0])
        queue.setPriority(.high, of: tickets[3])
        queue.setPriority(.normal, of: tickets[3])
        queue.setPriority(.high, of: 99)
        #expect(queue.runEach() == [2, 1, 3, 0].map { tickets[$0] })
    }

    @Test("the priority of a running request gives it nothing")
    func priorityOfHolder() {
        var queue = PermitQueue(limit: 3, limitPerHost: 1)
        let tickets = ["a", "b", "c"].map { queue.enqueue(host: $0, priority: .low) }
        #expect(queue.grant() == tickets)
        queue.setPriority(.high, of: tickets[2])
        #expect(queue.grant() == [])
        #expect((queue.holderCount, queue.waitingCount) == (3, 0))
    }
}

// MARK: - Age

extension PermitQueueTests {
    @Test("every eighth grant goes to the oldest request, whatever its priority")
    func age() {
        var queue = PermitQueue(limit: 1, limitPerHost: 1)
        let low = (0..<4).map { _ in queue.enqueue(host: "a", priority: .low) }
        let high = (0..<20).map { _ in queue.enqueue(host: "b", priority: .high) }
        let order = [high[0..<7], low[0..<1], high[7..<14], low[1..<2], high[14..<20], low[2..<4]].flatMap { $0 }
        #expect(queue.runEach() == order)
    }

    @Test("the oldest request whose host has room is taken when an older one's host is full")
    func ageAtFullHost() {
        var queue = PermitQueue(limit: 2, limitPerHost: 1)
        let holder = queue.enqueue(host: "full", priority: .high)
        #expect(queue.grant() == [holder])
        let blocked = queue.enqueue(host: "full", priority: .low)
        let low = queue.enqueue(host: "a", priority: .low)
        let high = (0..<9).map { _ in queue.enqueue(host: "b", priority: .high) }
        // The holder had the first grant.
        #expect((0..<8).map { _ in queue.runOne() } == high[0..<6] + [low] + high[6..<7])
        queue.release(holder)
        #expect(queue.grant() == [high[7], blocked])
    }

    @Test("an urgent request is among the next two grants, however many requests wait", arguments: [1, 99])
    func urgentAmongMany(hostCount: Int) {
        var queue = PermitQueue(limit: 1, limitPerHost: 1)
        for number in 0..<10_000 { _ = queue.enqueue(host: "\(number % hostCount)", priority: .low) }
        for number in 0..<100 {
            let urgent = queue.enqueue(host: "\(number * 7 % hostCount)", priority: .high)
            #expect([queue.runOne(), queue.runOne()].contains(urgent), "request \(number)")
            for _ in 0..<number % 10 { _ = queue.runOne() }
        }
    }

    @Test("the turn of the oldest request of all and that of the oldest at a host do not follow each other")
    func agesApart() {
        var queue = PermitQueue(limit: 1, limitPerHost: 1)
        let oldest = queue.enqueue(host: "a", priority: .low)
        let oldestAtHost = queue.enqueue(host: "b", priority: .low)
        let high = (0..<10).map { _ in queue.enqueue(host: "b", priority: .high) }
        #expect(queue.runEach() == high[0..<7] + [oldest, high[7], oldestAtHost] + high[8..<10])
    }

    @Test("a stream of urgent requests starves nobody")
    func starvation() {
        var queue = PermitQueue(limit: 1, limitPerHost: 1)
        let patient = queue.enqueue(host: "a", priority: .low)
        let grants = (0..<8).map { _ in
            _ = queue.enqueue(host: "a", priority: .high)
            return queue.runOne()
        }
        #expect(grants.firstIndex(of: patient) == 7)
    }

    @Test("streams of urgent requests at hosts that free up in turn starve nobody", arguments: 2...9)
    func starvationInTurns(hostCount: Int) {
        var queue = PermitQueue(limit: hostCount, limitPerHost: 1)
        var running: [Int] = []
        for host in 0..<hostCount { _ = queue.enqueue(host: "\(host)", priority: .high) }
        running = queue.grant()
        var patient = Set((0..<hostCount).map { queue.enqueue(host: "\($0)", priority: .low) })
        for round in 0..<40 * hostCount {
            _ = queue.enqueue(host: "\(round % hostCount)", priority: .high)
            queue.release(running.removeFirst())
            let granted = queue.grant()
            #expect(granted.count == 1)
            running += granted
            patient.subtract(granted)
        }
        #expect(patient.isEmpty)
    }

}

// MARK: - Moving to another host

extension PermitQueueTests {
    @Test("a request that moves makes room at the host that it leaves, and takes room at the other one")
    func moving() {
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

    @Test("a request whose new host is full loses its permit, which others get")
    func movingToFullHost() {
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

    @Test("nothing happens when a request moves to its own host, and a request without a permit cannot move")
    func movingNowhere() {
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
            let isMoved = queue.move(99, to: "b")
            #expect(!isMoved)
        }
        #expect(queue.grant() == [])
        #expect((queue.holderCount, queue.waitingCount) == (1, 1))
    }
}

// MARK: - Any order of operations, and cost

extension PermitQueueTests {
    @Test("in any order of operations it grants the same as a queue that looks at every request", arguments: 0..<60)
    func anyOrder(_ seed: UInt64) throws {
        var generator = SplitMix64(seed: seed)
        let limit = Int.random(in: 1...6, using: &generator)
        let limitPerHost = Int.random(in: 1...4, using: &generator)
        let hostCount = Int.random(in: 1...5, using: &generator)
        let arrivals = Int.random(in: 1...4, using: &generator)
        var queue = PermitQueue(limit: limit, limitPerHost: limitPerHost)
        var reference = SimpleQueue(limit: limit, limitPerHost: limitPerHost)
        for step in 0..<400 {
            let host = "host\(Int.random(in: 0..<hostCount, using: &generator))"
            let priority = try #require(
                [DownloadRequest.Priority.low, .normal, .high].randomElement(using: &generator))
            let ticket = Int.random(in: 1...max(1, reference.lastTicket), using: &generator)
            let holder = reference.requests.filter { $0.stage != .waiting }.randomElement(using: &generator)?.ticket
            switch Int.random(in: 0..<8 + arrivals, using: &generator) {
            case 0:
                queue.release(ticket)
                reference.release(ticket)
            case 1, 2:
                queue.release(holder ?? ticket)
                reference.release(holder ?? ticket)
            case 3:
                queue.setPriority(priority, of: ticket)
                reference.setPriority(priority, of: ticket)
            case 4:
                let isMoved = (queue.move(ticket, to: host), reference.move(ticket, to: host))
                try #require(isMoved.0 == isMoved.1)
            case 5:
                let isMoved = (queue.move(holder ?? ticket, to: host), reference.move(holder ?? ticket, to: host))
                try #require(isMoved.0 == isMoved.1)
            case 6, 7:
                try #require(queue.grant() == reference.grant(), "seed \(seed), step \(step)")
                try #require(
                    (0...reference.lastTicket).allSatisfy { queue.stage(of: $0) == reference.stage(of: $0) })
            default:
                let place = Bool.random(using: &generator) ? ticket : nil
                let enqueued = queue.enqueue(host: host, priority: priority, place: place)
                #expect(enqueued == reference.enqueue(host: host, priority: priority, place: place))
            }
            try #require(queue.holderCount == reference.holderCount, "seed \(seed), step \(step)")
            try #require(queue.holderCount <= limit, "seed \(seed), step \(step)")
            try #require(queue.waitingCount == reference.requests.count - reference.holderCount)
        }
        for request in reference.requests { queue.release(request.ticket) }
        #expect(valueCount(in: queue) == valueCount(in: PermitQueue(limit: limit, limitPerHost: limitPerHost)))
    }

    @Test("requests that left leave nothing behind", arguments: [1, 5000], [false, true])
    func memory(hostCount: Int, isReversed: Bool) {
        func makeQueue() -> PermitQueue {
            var queue = PermitQueue(limit: 3, limitPerHost: 2)
            for number in 0..<10 { _ = queue.enqueue(host: "\(number % 3)", priority: .normal) }
            _ = queue.grant()
            return queue
        }
        var queue = makeQueue()
        let tickets = (0..<20_000).map { number in
            queue.enqueue(host: "\(number % hostCount)", priority: [.low, .normal, .high][number % 3])
        }
        for ticket in tickets where ticket % 2 == 0 { queue.setPriority(.high, of: ticket) }
        for ticket in isReversed ? tickets.reversed() : tickets { queue.release(ticket) }
        #expect(valueCount(in: queue) == valueCount(in: makeQueue()))
    }

    @Test("of a hundred thousand requests those that did not leave are all granted once")
    func many() {
        var queue = PermitQueue(limit: 6, limitPerHost: 2)
        let tickets = (0..<100_000).map { number in
            queue.enqueue(host: "\(number % 1000)", priority: [.low, .normal, .high][number % 3])
        }
        for ticket in tickets where ticket % 2 == 0 { queue.release(ticket) }
        #expect(queue.runEach().sorted() == tickets.filter { $0 % 2 != 0 })
        #expect(valueCount(in: queue) == valueCount(in: PermitQueue(limit: 6, limitPerHost: 2)))
    }

    @Test("a heap gives its elements in order, and compares them about log n times for each change")
    func heap() {
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
        // Three changes to an element, each with at most two comparisons per level and one more at each end.
        #expect(comparisons.count < 3 * count * (2 * 12 + 2))
    }
}

/// How many values there are in a value, down to the last one.
private func valueCount(in value: Any) -> Int {
    Mirror(reflecting: value).children.reduce(1) { $0 + valueCount(in: $1.value) }
}

/// Counts the comparisons of a test, which runs in one thread.
private final class Comparisons: @unchecked Sendable {
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

extension PermitQueue {
    /// Grants a request and gives its permit back, where there is room for one at most.
    fileprivate mutating func runOne() -> Ticket? {
        let granted = grant()
        #expect(granted.count <= 1)
        for ticket in granted { release(ticket) }
        return granted.first
    }

    /// Grants and releases until nothing waits; returns the tickets in the order of their grants.
    fileprivate mutating func runEach() -> [Ticket] {
        var order: [Ticket] = []
        var granted = grant()
        while !granted.isEmpty {
            order += granted
            for ticket in granted { release(ticket) }
            granted = grant()
        }
        return order
    }
}

/// What a queue of permits does, by looking at every request each time.
private struct SimpleQueue {
    struct Request {
        let ticket: Int
        let place: Int
        var host: String
        var priority: DownloadRequest.Priority
        var stage = PermitQueue.Stage.waiting
    }

    let limit: Int
    let limitPerHost: Int
    private(set) var requests: [Request] = []
    private(set) var lastTicket = 0
    private var permitCount = 0
    private var isOldestDue = false
    private var wasByAge = false
    private var passedOver: [String: Int] = [:]

    init(limit: Int, limitPerHost: Int) {
        (self.limit, self.limitPerHost) = (limit, limitPerHost)
    }

    var holderCount: Int { requests.count { $0.stage != .waiting } }

    func stage(of ticket: Int) -> PermitQueue.Stage? { requests.first { $0.ticket == ticket }?.stage }

    mutating func enqueue(host: String, priority: DownloadRequest.Priority, place: Int?) -> Int {
        lastTicket += 1
        requests.append(Request(ticket: lastTicket, place: place ?? lastTicket, host: host, priority: priority))
        return lastTicket
    }

    mutating func setPriority(_ priority: DownloadRequest.Priority, of ticket: Int) {
        for index in requests.indices where requests[index].ticket == ticket && requests[index].stage == .waiting {
            requests[index].priority = priority
        }
    }

    mutating func move(_ ticket: Int, to host: String) -> Bool {
        guard let index = requests.firstIndex(where: { $0.ticket == ticket && $0.stage == .running }) else {
            return false
        }
        if requests[index].host == host { return true }
        guard runningCount(at: host) < limitPerHost else {
            release(ticket)
            return false
        }
        requests[index].host = host
        forgetIdleHosts()
        return true
    }

    mutating func release(_ ticket: Int) {
        requests.removeAll { $0.ticket == ticket }
        forgetIdleHosts()
    }

    mutating func grant() -> [Int] {
        var granted: [Int] = []
        while let ticket = grantOne() { granted.append(ticket) }
        return granted
    }

    private mutating func grantOne() -> Int? {
        let hasPermit = holderCount < limit
        let candidates = requests.filter {
            $0.stage == .waiting && hasPermit && runningCount(at: $0.host) < limitPerHost
        }
        let urgent = candidates.min { ($1.priority, $0.place, $0.ticket) < ($0.priority, $1.place, $1.ticket) }
        guard let urgent else { return nil }
        var chosen = urgent
        if !wasByAge {
            if isOldestDue, let oldest = oldest(of: candidates.filter { $0.stage == .waiting }) {
                chosen = oldest
                isOldestDue = false
            } else if passedOver[urgent.host, default: 0] >= 7 {
                chosen = oldest(of: candidates.filter { $0.host == urgent.host }) ?? urgent
            }
        }
        wasByAge = chosen.ticket != urgent.ticket
        run(chosen)
        return chosen.ticket
    }

    private mutating func run(_ chosen: Request) {
        let oldest = oldest(of: requests.filter { $0.host == chosen.host && $0.stage != .running })
        for index in requests.indices where requests[index].ticket == chosen.ticket {
            requests[index].stage = .running
        }
        if chosen.stage == .waiting {
            permitCount += 1
            isOldestDue = isOldestDue || permitCount % 8 == 7
        }
        if oldest?.ticket == chosen.ticket {
            passedOver[chosen.host] = 0
        } else if runningCount(at: chosen.host) == limitPerHost {
            passedOver[chosen.host, default: 0] += 1
        }
    }

    private func runningCount(at host: String) -> Int { requests.count { $0.host == host && $0.stage == .running } }

    private func oldest(of candidates: [Request]) -> Request? {
        candidates.min { ($0.place, $0.ticket) < ($1.place, $1.ticket) }
    }

    private mutating func forgetIdleHosts() {
        passedOver = passedOver.filter { host, _ in requests.contains { $0.host == host } }
    }
}
