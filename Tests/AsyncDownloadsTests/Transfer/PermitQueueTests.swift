internal import Testing

@testable import AsyncDownloads

@Suite("PermitQueue", .timeLimit(.minutes(15)))
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

    @Test("the most urgent goes first, and of equals the one that came first")
    func order() {
        var queue = PermitQueue(limit: 1, limitPerHost: 1)
        let tickets = [DownloadRequest.Priority.low, .normal, .high, .normal, .high].map {
            queue.enqueue(host: "a", priority: $0)
        }
        var order: [Int] = []
        while let ticket = queue.grant().first {
            order.append(ticket)
            queue.release(ticket)
        }
        #expect(order == [2, 4, 1, 3, 0].map { tickets[$0] })
    }

    @Test("a host at its limit holds back only its own")
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

    @Test("who leaves the queue gets no permit, and a ticket that is gone may be released again")
    func leaving() {
        var queue = PermitQueue(limit: 1, limitPerHost: 1)
        let holder = queue.enqueue(host: "a", priority: .normal)
        let leaver = queue.enqueue(host: "a", priority: .normal)
        #expect(queue.grant() == [holder])
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

    @Test("nobody starves while more urgent requests keep coming")
    func starvation() {
        var queue = PermitQueue(limit: 1, limitPerHost: 1)
        let patient = queue.enqueue(host: "a", priority: .low)
        var rounds = 0
        while rounds < 100 {
            _ = queue.enqueue(host: "a", priority: .high)
            guard let granted = queue.grant().first, granted != patient else { break }
            queue.release(granted)
            rounds += 1
        }
        #expect(rounds == 16)
    }

    @Test("in any order of events the limits hold, no permit lies idle, and nobody waits for ever", arguments: 0..<50)
    func anyOrder(_ seed: UInt64) {
        var generator = SplitMix64(seed: seed)
        let limit = Int.random(in: 1...6, using: &generator)
        let perHost = Int.random(in: 1...3, using: &generator)
        var queue = PermitQueue(limit: limit, limitPerHost: perHost)
        var model = Model(limit: limit, perHost: perHost)
        for _ in 0..<400 {
            switch Int.random(in: 0..<5, using: &generator) {
            case 0, 1:
                let host = "host\(Int.random(in: 0..<4, using: &generator))"
                let priority = [DownloadRequest.Priority.low, .normal, .high].randomElement(using: &generator)
                model.waiting[queue.enqueue(host: host, priority: priority ?? .low)] = (host, 0)
            case 2:
                if let ticket = model.waiting.keys.sorted().randomElement(using: &generator) {
                    queue.release(ticket)
                    model.waiting[ticket] = nil
                }
            case 3:
                if let ticket = model.holders.keys.sorted().randomElement(using: &generator) {
                    queue.release(ticket)
                    model.holders[ticket] = nil
                }
            default:
                for ticket in queue.grant() { model.grant(ticket) }
                #expect(!model.waiting.keys.contains(where: model.isEligible), "seed \(seed): a permit lies idle")
            }
            #expect(model.violation == nil, "seed \(seed)")
            #expect(queue.holderCount == model.holders.count, "seed \(seed)")
            #expect(queue.waitingCount == model.waiting.count, "seed \(seed)")
        }
    }
}

extension PermitQueueTests {
    /// What a queue of permits promises, without how it chooses.
    private struct Model {
        let limit: Int
        let perHost: Int
        var waiting: [Int: (host: String, passedOver: Int)] = [:]
        var holders: [Int: String] = [:]
        private(set) var violation: String?

        func isEligible(_ ticket: Int) -> Bool {
            guard holders.count < limit, let host = waiting[ticket]?.host else { return false }
            return holders.values.count { $0 == host } < perHost
        }

        mutating func grant(_ ticket: Int) {
            guard isEligible(ticket), let host = waiting[ticket]?.host else {
                violation = "\(ticket) got a permit against the limits, or without waiting"
                return
            }
            for older in waiting.keys where older < ticket && isEligible(older) {
                waiting[older]?.passedOver += 1
                if waiting[older]?.passedOver ?? 0 > 24 { violation = "\(older) starves" }
            }
            waiting[ticket] = nil
            holders[ticket] = host
        }
    }
}
