/// Decides which transfers may run, and which of them is next (rule 58): a value without effects.
///
/// At most `limit` transfers have a permit, and at most `limitPerHost` of them run at one host. The highest priority goes
/// first, and within one priority the lowest place in line. Every eighth permit goes to the oldest request whose host has
/// room, so that a stream of urgent requests starves nobody. A host at its limit holds back only its own requests.
///
/// Every operation and every single grant takes O(log n) steps for n requests in the queue.
struct PermitQueue: Sendable {
    /// Names one request for a permit; tickets rise and never repeat.
    typealias Ticket = Int

    /// What a request has.
    enum Stage: Sendable {
        /// It waits for a permit.
        case waiting
        /// It has a permit, and runs at its host.
        case running
    }

    private struct Request: Sendable {
        var host: String
        var position: Position
        var stage = Stage.waiting
    }

    /// What waits for or runs at one host; none is kept of a host without either.
    private struct Host: Sendable {
        var runningCount = 0
        var line = Line<Ticket>()
        /// How often in a row the host was filled up, and its oldest request still waited.
        var passedOver = 0

        var isIdle: Bool { runningCount == 0 && line.isEmpty }
    }

    /// One grant in so many goes by age instead of priority.
    private static let period = 8

    private let limit: Int
    private let limitPerHost: Int
    private var requests: [Ticket: Request] = [:]
    private var hosts: [String: Host] = [:]
    /// What is first in the line of each host that has room.
    private var heads = Line<String>()
    private var lastTicket = 0
    private var permitCount = 0
    /// The next permit goes by age.
    private var isOldestDue = false
    /// The last grant went by age.
    private var wasByAge = false

    /// How many have a permit.
    private(set) var holderCount = 0

    /// How many wait for a permit.
    var waitingCount: Int { requests.count - holderCount }

    /// Limits below 1 are taken as 1.
    init(limit: Int, limitPerHost: Int) {
        self.limit = max(1, limit)
        self.limitPerHost = max(1, limitPerHost)
    }

    /// What a ticket has; nil for a ticket that is not in the queue.
    func stage(of ticket: Ticket) -> Stage? { requests[ticket]?.stage }

    /// Asks for a permit, which comes through ``grant()``.
    ///
    /// The place in line is the ticket. A retry keeps the place of its transfer: `place` is the transfer's first ticket.
    mutating func enqueue(host: String, priority: DownloadRequest.Priority, place: Ticket? = nil) -> Ticket {
        lastTicket += 1
        let position = Position(rank: priority.rank, place: place ?? lastTicket, ticket: lastTicket)
        lineUp(Request(host: host, position: position))
        return lastTicket
    }

    /// Changes the priority of a request that waits.
    mutating func setPriority(_ priority: DownloadRequest.Priority, of ticket: Ticket) {
        guard var request = requests[ticket], request.stage == .waiting else { return }
        request.position.rank = priority.rank
        lineUp(request)
    }

    /// Lets the holder of a permit go on at another host where that has room; otherwise the permit is given back.
    ///
    /// - Returns: Whether the ticket still has a permit.
    mutating func move(_ ticket: Ticket, to name: String) -> Bool {
        guard var request = requests[ticket], request.stage == .running else { return false }
        guard request.host != name else { return true }
        guard hosts[name]?.runningCount ?? 0 < limitPerHost else {
            release(ticket)
            return false
        }
        leaveHost(request)
        request.host = name
        requests[ticket] = request
        hosts[name, default: Host()].runningCount += 1
        hostChanged(name)
        return true
    }

    /// Gives a permit back, or leaves the queue; unknown tickets are no error.
    mutating func release(_ ticket: Ticket) {
        guard let request = requests.removeValue(forKey: ticket) else { return }
        if request.stage == .running { holderCount -= 1 }
        leaveHost(request)
    }

    /// Gives out everything that can be given out now, in this order.
    mutating func grant() -> [Ticket] {
        var granted: [Ticket] = []
        while holderCount < limit, let ticket = next() {
            run(ticket)
            granted.append(ticket)
        }
        return granted
    }

    /// Chooses the next request to be granted.
    ///
    /// Each host also counts on its own: its oldest request would starve if the host were full each time the oldest request
    /// of all is due, as happens when hosts free up in a regular order. Two grants in a row never go by age, so that the
    /// most urgent request is one of the next two.
    private mutating func next() -> Ticket? {
        guard let urgent = heads.byPriority.first else { return nil }
        var chosen = urgent.order.ticket
        if !wasByAge {
            if isOldestDue, let oldest = heads.byPlace.first {
                isOldestDue = false
                chosen = oldest.order.ticket
            } else if let host = hosts[urgent.key], host.passedOver >= Self.period - 1,
                let oldest = host.line.byPlace.first
            {
                chosen = oldest.key
            }
        }
        wasByAge = chosen != urgent.order.ticket
        return chosen
    }

    private mutating func run(_ ticket: Ticket) {
        guard var request = requests[ticket], var host = hosts.removeValue(forKey: request.host) else { return }
        let isOldest = host.line.byPlace.first?.key == ticket
        holderCount += 1
        permitCount += 1
        if permitCount % Self.period == Self.period - 1 { isOldestDue = true }
        host.line.set(nil, for: ticket)
        host.runningCount += 1
        if isOldest {
            host.passedOver = 0
        } else if host.runningCount == limitPerHost {
            host.passedOver += 1
        }
        request.stage = .running
        requests[ticket] = request
        hosts[request.host] = host
        hostChanged(request.host)
    }

    private mutating func lineUp(_ request: Request) {
        requests[request.position.ticket] = request
        hosts[request.host, default: Host()].line.set(request.position, for: request.position.ticket)
        hostChanged(request.host)
    }

    private mutating func leaveHost(_ request: Request) {
        switch request.stage {
        case .running: hosts[request.host]?.runningCount -= 1
        case .waiting: hosts[request.host]?.line.set(nil, for: request.position.ticket)
        }
        hostChanged(request.host)
    }

    private mutating func hostChanged(_ name: String) {
        guard let host = hosts[name] else { return }
        heads.setHeads(of: host.runningCount < limitPerHost ? host.line : Line(), for: name)
        if host.isIdle { hosts[name] = nil }
    }
}

extension PermitQueue {
    /// Where a request stands: by priority, then by its place in line.
    private struct Position: Comparable, Sendable {
        var rank: Int
        let place: Int
        let ticket: Ticket

        static func < (left: Self, right: Self) -> Bool {
            if left.rank != right.rank { return left.rank > right.rank }
            return left.place != right.place ? left.place < right.place : left.ticket < right.ticket
        }
    }

    /// A line, in both of its orders.
    private struct Line<Key: Hashable & Sendable>: Sendable {
        var byPriority = Heap<Key, Position>()
        /// All ranks are 0 here.
        var byPlace = Heap<Key, Position>()

        var isEmpty: Bool { byPlace.isEmpty }

        mutating func set(_ position: Position?, for key: Key) {
            byPriority[key] = position
            byPlace[key] = position.map { Position(rank: 0, place: $0.place, ticket: $0.ticket) }
        }

        mutating func setHeads<Other>(of line: Line<Other>, for key: Key) {
            byPriority[key] = line.byPriority.first?.order
            byPlace[key] = line.byPlace.first?.order
        }
    }
}
