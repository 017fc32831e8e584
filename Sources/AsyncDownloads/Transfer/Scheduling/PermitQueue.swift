/// A value without effects that decides which transfers may run, and which one is next (rule 58).
///
/// At most `limit` transfers have a permit, and at most `limitPerHost` of them use one host. The highest priority goes
/// first, and within one priority the lowest place in line. Every eighth permit goes to the oldest request whose host
/// is below its limit, so that a stream of urgent requests does not starve the others. A host at its limit delays only
/// its own requests.
///
/// Every operation and every single grant takes O(log n) steps for n requests in the queue.
struct PermitQueue: Sendable {
    /// Identifies one request for a permit; tickets increase and are never reused.
    struct Ticket: Sendable, Hashable, Comparable {
        let number: Int
        /// The slot that stores the request, which is reused after the request is released.
        let slot: Int32

        static func < (left: Self, right: Self) -> Bool { left.number < right.number }
    }

    /// The stage of a request.
    enum Stage: Sendable {
        /// The request waits for a permit.
        case waiting
        /// The request has a permit, and runs at its host.
        case running
    }

    private struct Request: HeapElement {
        let number: Int
        /// The number of the ticket that determines the place in line.
        let place: Int
        var host: Int32
        var heapIndex: Int32 = 0
        var rank: Int8
        var stage = Stage.waiting

        var position: Position { Position(rank: rank, place: place, number: number) }
        /// The position among requests of the same host and rank.
        var order: Position { Position(rank: 0, place: place, number: number) }
    }

    /// The requests of one host that wait or run; there is no value for a host without requests.
    private struct Host: Sendable {
        let name: String
        var runningCount = 0
        /// The waiting requests, by their ranks in descending order.
        var lines = [SlotHeap<Request>](repeating: SlotHeap(), count: ranks.count)
        /// The number of consecutive times that the host reached its limit while its oldest request was still waiting.
        var passedOver = 0

        var isIdle: Bool { runningCount == 0 && lines.allSatisfy(\.isEmpty) }

        static let ranks = [DownloadRequest.Priority.high, .normal, .low].map(\.rank)

        /// The index in ``lines`` of the requests with this rank.
        static func line(_ rank: Int8) -> Int {
            guard let index = ranks.firstIndex(of: rank) else { preconditionFailure("no priority has rank \(rank)") }
            return index
        }
    }

    /// The interval, in grants, at which one goes by age instead of by priority.
    private static let period = 8

    private let limit: Int
    private let limitPerHost: Int
    private var requests = SlotTable<Request>()
    private var hosts = SlotTable<Host>()
    private var hostSlots: [String: Int32] = [:]
    /// The first requests in line by priority and by age, one for each host below its limit.
    private var urgentHeads = Heap<Int32, Position>()
    private var oldestHeads = Heap<Int32, Position>()
    private var lastNumber = 0
    private var permitCount = 0
    /// Whether the next permit goes by age.
    private var isOldestDue = false
    /// Whether the last grant went by age.
    private var wasByAge = false

    /// Whether no request waits or has a permit.
    var isEmpty: Bool { requests.count == 0 }

    /// The number of requests that have a permit.
    private(set) var holderCount = 0

    /// The number of requests that wait for a permit.
    var waitingCount: Int { requests.count - holderCount }

    /// Returns the number of requests that have a permit for the host.
    func runningCount(_ host: String) -> Int { hostSlots[host].map { hosts[$0].runningCount } ?? 0 }

    /// Returns whether a request waits for the host, or, when all permits are in use, for any host.
    func isWaiting(for host: String) -> Bool {
        if holderCount >= limit, waitingCount > 0 { return true }
        return hostSlots[host].map { slot in hosts[slot].lines.contains { !$0.isEmpty } } ?? false
    }

    /// Creates an empty queue; limits below 1 count as 1.
    init(limit: Int, limitPerHost: Int) {
        self.limit = max(1, limit)
        self.limitPerHost = max(1, limitPerHost)
    }

    /// Returns the stage of a request, or nil for a ticket that is not in the queue.
    func stage(of ticket: Ticket) -> Stage? { request(ticket)?.stage }

    /// Adds a request for a permit, which ``grant()`` grants.
    ///
    /// The ticket is the place in line. A retry keeps the place of its transfer: `place` is the transfer's first
    /// ticket.
    mutating func enqueue(host: String, priority: DownloadRequest.Priority, place: Ticket? = nil) -> Ticket {
        lastNumber += 1
        let host = slot(of: host)
        let slot = requests.insert(
            Request(number: lastNumber, place: place?.number ?? lastNumber, host: host, rank: priority.rank))
        lineUp(slot)
        return Ticket(number: lastNumber, slot: slot)
    }

    /// Changes the priority of a waiting request.
    mutating func setPriority(_ priority: DownloadRequest.Priority, of ticket: Ticket) {
        guard request(ticket)?.stage == .waiting else { return }
        leaveLine(ticket.slot)
        requests.update(ticket.slot) { $0.rank = priority.rank }
        lineUp(ticket.slot)
    }

    /// Moves a permit to another host if that host is below its limit; otherwise releases the permit.
    ///
    /// - Returns: Whether the ticket still has a permit.
    mutating func move(_ ticket: Ticket, to name: String) -> Bool {
        guard let request = request(ticket), request.stage == .running else { return false }
        guard hosts[request.host].name != name else { return true }
        guard hostSlots[name].map({ hosts[$0].runningCount < limitPerHost }) ?? true else {
            release(ticket)
            return false
        }
        leaveHost(request.host)
        let host = slot(of: name)
        requests.update(ticket.slot) { $0.host = host }
        hosts.update(host) { $0.runningCount += 1 }
        hostChanged(host)
        return true
    }

    /// Releases a permit or removes a waiting request; unknown tickets are ignored.
    mutating func release(_ ticket: Ticket) {
        guard let request = request(ticket) else { return }
        switch request.stage {
        case .waiting:
            leaveLine(ticket.slot)
            hostChanged(request.host)
        case .running:
            holderCount -= 1
            leaveHost(request.host)
        }
        requests.remove(at: ticket.slot)
    }

    /// Grants all permits that are available now, and returns their tickets in the order of the grants.
    mutating func grant() -> [Ticket] {
        var granted: [Ticket] = []
        while holderCount < limit, let slot = next() {
            run(slot)
            granted.append(Ticket(number: requests[slot].number, slot: slot))
        }
        return granted
    }

    private func request(_ ticket: Ticket) -> Request? {
        guard let request = requests.element(in: ticket.slot), request.number == ticket.number else { return nil }
        return request
    }

    /// Returns the slot of the request to which the next permit goes, or nil if no request can run.
    ///
    /// Each host also counts its grants. Otherwise, the oldest request of a host that is at its limit whenever a grant
    /// by age is due would starve. Two successive grants are never made by age, so the most urgent request gets one of
    /// any two grants.
    private mutating func next() -> Int32? {
        guard let host = urgentHeads.first?.key, let urgent = mostUrgent(of: host) else { return nil }
        var chosen = urgent
        if !wasByAge {
            if isOldestDue, let oldest = oldestHeads.first.flatMap({ oldest(of: $0.key) }) {
                isOldestDue = false
                chosen = oldest
            } else if hosts[host].passedOver >= Self.period - 1, let oldest = oldest(of: host) {
                chosen = oldest
            }
        }
        wasByAge = chosen != urgent
        return chosen
    }

    private mutating func run(_ slot: Int32) {
        let host = requests[slot].host
        let isOldest = oldest(of: host) == slot
        holderCount += 1
        permitCount += 1
        if permitCount % Self.period == Self.period - 1 { isOldestDue = true }
        leaveLine(slot)
        hosts.update(host) { host in
            host.runningCount += 1
            if isOldest {
                host.passedOver = 0
            } else if host.runningCount == limitPerHost {
                host.passedOver += 1
            }
        }
        requests.update(slot) { $0.stage = .running }
        hostChanged(host)
    }
}

extension PermitQueue {
    /// The position of a request: by priority, then by its place in line.
    private struct Position: Comparable, Sendable {
        let rank: Int8
        let place: Int
        let number: Int

        static func < (left: Self, right: Self) -> Bool {
            if left.rank != right.rank { return left.rank > right.rank }
            return left.place != right.place ? left.place < right.place : left.number < right.number
        }
    }

    /// Returns the slot of the host with this name, which is added if necessary.
    private mutating func slot(of name: String) -> Int32 {
        if let slot = hostSlots[name] { return slot }
        let slot = hosts.insert(Host(name: name))
        hostSlots[name] = slot
        return slot
    }

    private func mostUrgent(of host: Int32) -> Int32? {
        hosts[host].lines.lazy.compactMap(\.first).first
    }

    private func oldest(of host: Int32) -> Int32? {
        hosts[host].lines.compactMap(\.first).min { requests[$0].order < requests[$1].order }
    }

    private mutating func lineUp(_ slot: Int32) {
        let request = requests[slot]
        hosts.update(request.host) { $0.lines[Host.line(request.rank)].insert(slot, in: &requests) }
        hostChanged(request.host)
    }

    /// Removes a waiting request from its line; a call of ``hostChanged(_:)`` must follow.
    private mutating func leaveLine(_ slot: Int32) {
        let request = requests[slot]
        hosts.update(request.host) { $0.lines[Host.line(request.rank)].remove(slot, in: &requests) }
    }

    private mutating func leaveHost(_ host: Int32) {
        hosts.update(host) { $0.runningCount -= 1 }
        hostChanged(host)
    }

    private mutating func hostChanged(_ host: Int32) {
        let isBelowLimit = hosts[host].runningCount < limitPerHost
        urgentHeads[host] = isBelowLimit ? mostUrgent(of: host).map { requests[$0].position } : nil
        oldestHeads[host] = isBelowLimit ? oldest(of: host).map { requests[$0].order } : nil
        guard hosts[host].isIdle else { return }
        hostSlots[hosts[host].name] = nil
        hosts.remove(at: host)
    }
}
