internal import Foundation

@testable import AsyncDownloads

/// Transfers of several origins, which refuse requests, redirect to each other, and can't be reached for some time, in
/// simulated time.
struct HostTableSimulation {
    private enum Event {
        case answer(Int, PermitQueue.Begun)
        case request(Int)
    }

    /// One transfer, from its first request for a permit to its end.
    private struct Transfer {
        let resource: ResourceID
        var pair: OriginPair
        var place: PermitQueue.Ticket?
        var ticket: PermitQueue.Ticket?
        var isRunning = false
        let isPatient: Bool
        var redirect: OriginPair?
        var hasFinished = false
    }

    /// The state of an origin according to its answers.
    private struct Knowledge {
        var coolDownEnd = Duration.zero
        var resourceEnds: [ResourceID: Duration] = [:]
        var isUnreachable = false
        /// The requests that were begun since a connection failed.
        var probes: Set<Int> = []
    }

    /// All origins work after this time.
    static let healthyTime = Duration.seconds(120)

    private var generator: SplitMix64
    private var queue: PermitQueue
    private var transfers: [Transfer] = []
    /// The indices of the transfers that have a ticket.
    private var indices: [PermitQueue.Ticket: Int] = [:]
    private(set) var unfinishedCount: Int
    private var events = Heap<Int, Duration>()
    private var eventsByNumber: [Int: Event] = [:]
    private var lastEvent = 0
    private var knowledge: [OriginPair: Knowledge] = [:]
    /// The times in which the origins can't be reached or refuse requests.
    private var troubles: [String: [(range: Range<Duration>, kind: Int)]] = [:]
    private let policy = RetryPolicy(maximumRetries: 3)
    private(set) var violations: [String] = []
    private(set) var requestCount = 0
    private(set) var now = Duration.zero

    init(seed: UInt64, transferCount: Int) {
        generator = SplitMix64(seed: seed)
        unfinishedCount = transferCount
        queue = PermitQueue(limit: 16, HostLimit.Settings(patience: .seconds(20)), seed: seed)
        let hosts = (0..<4).map { "h\($0).example" }
        for host in hosts {
            for port in [443, 8443] {
                var ranges: [(Range<Duration>, Int)] = []
                for _ in 0..<4 {
                    let start = Duration.milliseconds(Int.random(in: 0..<100_000, using: &generator))
                    let length = Duration.milliseconds(Int.random(in: 100..<20_000, using: &generator))
                    ranges.append(
                        (start..<min(start + length, Self.healthyTime), Int.random(in: 0..<4, using: &generator)))
                }
                troubles["\(host):\(port)"] = ranges
            }
        }
        for number in 0..<transferCount {
            let host = hosts[Int.random(in: 0..<4, using: &generator)]
            let pair = OriginPair(host: host, port: Bool.random(using: &generator) ? 443 : 8443)
            let target = hosts[Int.random(in: 0..<4, using: &generator)]
            let resource = ResourceID(.sample("https://a.example/1").appending(path: "\(number)"))
            var transfer = Transfer(
                resource: resource, pair: pair, isPatient: Int.random(in: 0..<10, using: &generator) > 0)
            if Int.random(in: 0..<5, using: &generator) == 0 { transfer.redirect = OriginPair(host: target, via: host) }
            transfers.append(transfer)
            add(.request(number), after: .milliseconds(Int.random(in: 0..<90_000, using: &generator)))
        }
    }

    /// The contents of the queue after all transfers have finished.
    var remainder: (waiting: Int, heldUp: Int, holders: Int) {
        (queue.waitingCount, queue.heldUp.count, queue.holderCount)
    }

    /// Runs until all transfers have finished, or until no event is left.
    mutating func run() {
        while unfinishedCount > 0 {
            for ticket in queue.grant(at: now) { granted(ticket) }
            guard let next = [events.first?.order, queue.nextTime].compactMap({ $0 }).min() else { return }
            now = max(now, next)
            while let (number, time) = events.first, time <= now {
                events[number] = nil
                if let event = eventsByNumber.removeValue(forKey: number) { handle(event) }
            }
            if Int.random(in: 0..<20, using: &generator) == 0 { disturb() }
        }
    }

    private mutating func add(_ event: Event, after delay: Duration) {
        lastEvent += 1
        eventsByNumber[lastEvent] = event
        events[lastEvent] = now + delay
    }

    /// Withdraws or reorders a request that waits, as a pause or a new priority does.
    private mutating func disturb() {
        let waiting = transfers.indices.filter { transfers[$0].ticket != nil && !transfers[$0].isRunning }
        guard let index = waiting.randomElement(using: &generator), let ticket = transfers[index].ticket else { return }
        if Bool.random(using: &generator) { return queue.setPriority(.high, of: ticket) }
        queue.release(ticket)
        setTicket(nil, of: index)
        add(.request(index), after: .seconds(Int.random(in: 0...5, using: &generator)))
    }

    private mutating func setTicket(_ ticket: PermitQueue.Ticket?, of index: Int) {
        if let former = transfers[index].ticket { indices[former] = nil }
        transfers[index].ticket = ticket
        if let ticket { indices[ticket] = index }
    }

    private mutating func granted(_ ticket: PermitQueue.Ticket) {
        guard let index = indices[ticket] else {
            return violations.append("a permit for an unknown request")
        }
        transfers[index].isRunning = true
        // A permit whose request isn't sent, as after a pause.
        if Int.random(in: 0..<20, using: &generator) == 0 { return requestAgain(index, after: .seconds(1)) }
        begin(index)
    }

    private mutating func begin(_ index: Int) {
        let transfer = transfers[index]
        guard let ticket = transfer.ticket, let begun = queue.begin(ticket, transfer.resource, at: now) else {
            setTicket(nil, of: index)
            return requestAgain(index, after: .zero)
        }
        requestCount += 1
        check(transfer, begun)
        add(.answer(index, begun), after: .milliseconds(Int.random(in: 1...300, using: &generator)))
    }

    private mutating func check(_ transfer: Transfer, _ begun: PermitQueue.Begun) {
        var known = knowledge[transfer.pair] ?? Knowledge()
        if now < known.coolDownEnd { violations.append("\(now): a request during a cool-down") }
        if let end = known.resourceEnds[transfer.resource], now < end {
            violations.append("\(now): a refused resource")
        }
        if known.isUnreachable {
            known.probes.insert(begun.number)
            if known.probes.count > 1 { violations.append("\(now): \(known.probes.count) probes") }
        }
        knowledge[transfer.pair] = known
    }

    private mutating func requestAgain(_ index: Int, after delay: Duration) {
        if let ticket = transfers[index].ticket { queue.release(ticket) }
        setTicket(nil, of: index)
        transfers[index].isRunning = false
        add(.request(index), after: delay)
    }

    private mutating func handle(_ event: Event) {
        switch event {
        case .request(let index):
            let transfer = transfers[index]
            let ticket = queue.enqueue(
                for: transfer.pair, transfer.resource, priority: .normal, place: transfer.place,
                retryLimit: transfer.isPatient ? 3 : 0)
            setTicket(ticket, of: index)
            if transfer.place == nil { transfers[index].place = ticket }
        case .answer(let index, let begun):
            answered(index, begun)
        }
    }

    /// Returns the current answer of an origin.
    private func answer(_ transfer: Transfer) -> RequestAnswer {
        let origin = transfer.pair.target.map { "\($0.host):\($0.port)" } ?? ""
        guard let trouble = troubles[origin]?.first(where: { $0.range.contains(now) }) else { return .accepted() }
        return switch trouble.kind {
        case 0, 1: .unreachable(DownloadError(.cannotConnect), transfer.isPatient ? policy : .never)
        case 2: .refused(retryAfter: .seconds(3))
        default: .refused(retryAfter: .seconds(3), of: transfer.resource)
        }
    }

    private mutating func answered(_ index: Int, _ begun: PermitQueue.Begun) {
        let (transfer, answer) = (transfers[index], answer(transfers[index]))
        let consequence = queue.answered(begun, answer, at: now)
        var known = knowledge[transfer.pair] ?? Knowledge()
        known.probes.remove(begun.number)
        switch answer {
        case .unreachable:
            // An earlier failure to connect doesn't matter after a cool-down.
            if now >= known.coolDownEnd { known.isUnreachable = true }
        case .refused(let retryAfter?, let resource):
            known.isUnreachable = false
            if let resource {
                known.resourceEnds[resource] = now + retryAfter
            } else {
                known.coolDownEnd = now + retryAfter
            }
        default:
            known.isUnreachable = false
        }
        if !known.isUnreachable { known.probes = [] }
        knowledge[transfer.pair] = known
        for ticket in consequence.failed {
            guard let other = indices[ticket] else {
                violations.append("a refusal of an unknown request")
                continue
            }
            // The caller tries again later.
            setTicket(nil, of: other)
            add(.request(other), after: .seconds(12))
        }
        guard case .accepted = answer else {
            // After the end of an outage, the caller tries again.
            return requestAgain(index, after: consequence.step == .end ? .seconds(12) : .zero)
        }
        guard let redirect = transfer.redirect else { return finish(index) }
        (transfers[index].pair, transfers[index].redirect) = (redirect, nil)
        if let ticket = transfer.ticket, queue.move(ticket, to: redirect, at: now) { return begin(index) }
        setTicket(nil, of: index)
        requestAgain(index, after: .zero)
    }

    private mutating func finish(_ index: Int) {
        if !transfers[index].hasFinished { unfinishedCount -= 1 }
        transfers[index].hasFinished = true
        guard let ticket = transfers[index].ticket else { return }
        if Bool.random(using: &generator) { queue.yield(ticket) }
        queue.release(ticket)
        setTicket(nil, of: index)
    }
}
