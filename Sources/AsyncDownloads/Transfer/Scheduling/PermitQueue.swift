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
    typealias Ticket = Int

    /// The stage of a request.
    enum Stage: Sendable {
        /// The request waits for a permit.
        case waiting
        /// The request has a permit, and runs at its host.
        case running
    }

    private struct Request: Sendable {
        var host: String
        var position: Position
        var stage = Stage.waiting
    }

    /// The requests of one host that wait or run; there is no value for a host without requests.
    private struct Host: Sendable {
        var runningCount = 0
        var line = Line<Ticket>()
        /// The number of times in succession that the host reached its limit while its oldest request still waited.
        var passedOver = 0

        var isIdle: Bool { runningCount == 0 && line.isEmpty }
    }

    /// The interval, in grants, at which one goes by age instead of by priority.
    private static let period = 8

    private let limit: Int
    private let limitPerHost: Int
    private var requests: [Ticket: Request] = [:]
    private var hosts: [String: Host] = [:]
    /// The first requests in line, one for each host below its limit.
    private var heads = Line<String>()
    private var lastTicket = 0
    private var permitCount = 0
    /// Whether the next permit goes by age.
    private var isOldestDue = false
    /// Whether the last grant went by age.
    private var wasByAge = false

    /// The number of requests that have a permit.
    private(set) var holderCount = 0

    /// The number of requests that wait for a permit.
    var waitingCount: Int { requests.count - holderCount }

    /// Creates an empty queue; limits below 1 count as 1.
    init(limit: Int, limitPerHost: Int) {
        self.limit = max(1, limit)
        self.limitPerHost = max(1, limitPerHost)
    }

    /// Returns the stage of a request, or nil for a ticket that is not in the queue.
    func stage(of ticket: Ticket) -> Stage? { requests[ticket]?.stage }

    /// Adds a request for a permit, which ``grant()`` grants.
    ///
    /// The ticket is the place in line. A retry keeps the place of its transfer: `place` is the transfer's first
    /// ticket.
    mutating func enqueue(host: String, priority: DownloadRequest.Priority, place: Ticket? = nil) -> Ticket {
        lastTicket += 1
        let position = Position(rank: priority.rank, place: place ?? lastTicket, ticket: lastTicket)
        lineUp(Request(host: host, position: position))
        return lastTicket
    }

    /// Changes the priority of a waiting request.
    mutating func setPriority(_ priority: DownloadRequest.Priority, of ticket: Ticket) {
        guard var request = requests[ticket], request.stage == .waiting else { return }
        request.position.rank = priority.rank
        lineUp(request)
    }

    /// Moves a permit to another host if that host is below its limit; otherwise releases the permit.
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

    /// Releases a permit or removes a waiting request; unknown tickets are ignored.
    mutating func release(_ ticket: Ticket) {
        guard let request = requests.removeValue(forKey: ticket) else { return }
        if request.stage == .running { holderCount -= 1 }
        leaveHost(request)
    }

    /// Grants all permits that are available now, and returns their tickets in the order of the grants.
    mutating func grant() -> [Ticket] {
        var granted: [Ticket] = []
        while holderCount < limit, let ticket = next() {
            run(ticket)
            granted.append(ticket)
        }
        return granted
    }

    /// Returns the ticket to which the next permit goes, or nil if no request can run.
    ///
    /// Grants are also counted for each host: the oldest request of a host would starve if the host were at its limit
    /// each time the oldest request of all is due, as happens when hosts become free in a regular order. Two successive
    /// grants never go by age, so that the most urgent request gets one of the next two.
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
    /// The position of a request: by priority, then by its place in line.
    private struct Position: Comparable, Sendable {
        var rank: Int
        let place: Int
        let ticket: Ticket

        static func < (left: Self, right: Self) -> Bool {
            if left.rank != right.rank { return left.rank > right.rank }
            return left.place != right.place ? left.place < right.place : left.ticket < right.ticket
        }
    }

    /// A line of requests, in both of its orders.
    private struct Line<Key: Hashable & Sendable>: Sendable {
        var byPriority = Heap<Key, Position>()
        /// The same requests by place only, with all ranks set to 0.
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
