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

    /// What a request has, and what it waits for.
    enum Stage: Sendable {
        /// It waits for a permit, and for room at its host.
        case waiting
        /// It has a permit, and waits for room at another host than before.
        case moving
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
        var lines = Lines<Ticket>()
        /// How often in a row the host was filled up, and its oldest request still waited.
        var passedOver = 0

        var isIdle: Bool { runningCount == 0 && lines.isEmpty }
    }

    /// One grant in so many goes by age instead of priority.
    private static let period = 8

    private let limit: Int
    private let limitPerHost: Int
    private var requests: [Ticket: Request] = [:]
    private var hosts: [String: Host] = [:]
    /// What is first in the lines of each host that has room.
    private var heads = Lines<String>()
    private var lastTicket = 0
    private var permitCount = 0
    /// The next permit goes by age.
    private var isOldestDue = false
    /// The last grant went by age.
    private var wasByAge = false

    /// How many have a permit, those that move to another host included.
    private(set) var holderCount = 0

    /// How many wait for a permit.
    var waitingCount: Int { requests.count - holderCount }

    /// Limits below 1 are taken as 1.
    init(limit: Int, limitPerHost: Int) {
        self.limit = max(1, limit)
        self.limitPerHost = max(1, limitPerHost)
    }

    /// What a ticket has and waits for; nil for a ticket that is not in the queue.
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

    /// Changes the priority of a request that waits; for one that runs it counts when the request moves to another host.
    mutating func setPriority(_ priority: DownloadRequest.Priority, of ticket: Ticket) {
        guard var request = requests[ticket] else { return }
        request.position.rank = priority.rank
        lineUp(request)
    }

    /// Gives up the room at one host and asks for room at another, which comes through ``grant()``.
    ///
    /// The permit is kept meanwhile, so that transfers that move to each other's hosts cannot block each other. A request
    /// without a permit goes on waiting for one, at the new host. Nothing happens when `host` is the present one.
    mutating func move(_ ticket: Ticket, to host: String) {
        guard var request = requests[ticket], request.host != host else { return }
        leaveHost(request)
        request.host = host
        if request.stage == .running { request.stage = .moving }
        lineUp(request)
    }

    /// Gives a permit back, or leaves the queue; unknown tickets are no error.
    mutating func release(_ ticket: Ticket) {
        guard let request = requests.removeValue(forKey: ticket) else { return }
        if request.stage != .waiting { holderCount -= 1 }
        leaveHost(request)
    }

    /// Gives out everything that can be given out now, in this order.
    mutating func grant() -> [Ticket] {
        var granted: [Ticket] = []
        while let ticket = next() {
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
        let hasPermit = holderCount < limit
        guard let urgent = heads.mostUrgent(withWaiting: hasPermit) else { return nil }
        var chosen = urgent.order.ticket
        if !wasByAge {
            if isOldestDue, hasPermit, let oldest = heads.waiting.byPlace.first {
                isOldestDue = false
                chosen = oldest.order.ticket
            } else if let host = hosts[urgent.key], host.passedOver >= Self.period - 1,
                let oldest = host.lines.oldest(withWaiting: hasPermit)
            {
                chosen = oldest.key
            }
        }
        wasByAge = chosen != urgent.order.ticket
        return chosen
    }

    private mutating func run(_ ticket: Ticket) {
        guard var request = requests[ticket], var host = hosts.removeValue(forKey: request.host) else { return }
        let isOldest = host.lines.oldest(withWaiting: true)?.key == ticket
        if request.stage == .waiting {
            holderCount += 1
            permitCount += 1
            if permitCount % Self.period == Self.period - 1 { isOldestDue = true }
        }
        host.lines.set(nil, for: ticket, in: request.stage)
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
        hosts[request.host, default: Host()].lines.set(
            request.position, for: request.position.ticket, in: request.stage)
        hostChanged(request.host)
    }

    private mutating func leaveHost(_ request: Request) {
        if request.stage == .running { hosts[request.host]?.runningCount -= 1 }
        hosts[request.host]?.lines.set(nil, for: request.position.ticket, in: request.stage)
        hostChanged(request.host)
    }

    private mutating func hostChanged(_ name: String) {
        guard let host = hosts[name] else { return }
        heads.setHeads(of: host.runningCount < limitPerHost ? host.lines : Lines(), for: name)
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

    /// One line, in both of its orders.
    private struct Line<Key: Hashable & Sendable>: Sendable {
        var byPriority = Heap<Key, Position>()
        /// All ranks are 0 here.
        var byPlace = Heap<Key, Position>()

        mutating func set(_ position: Position?, for key: Key) {
            byPriority[key] = position
            byPlace[key] = position.map { Position(rank: 0, place: $0.place, ticket: $0.ticket) }
        }

        mutating func setHeads<Other>(of line: Line<Other>, for key: Key) {
            byPriority[key] = line.byPriority.first?.order
            byPlace[key] = line.byPlace.first?.order
        }
    }

    /// Two lines, since those that move need room at a host only, and the others a permit as well.
    private struct Lines<Key: Hashable & Sendable>: Sendable {
        var waiting = Line<Key>()
        var moving = Line<Key>()

        var isEmpty: Bool { waiting.byPlace.isEmpty && moving.byPlace.isEmpty }

        func mostUrgent(withWaiting: Bool) -> Heap<Key, Position>.Element? {
            Self.first(moving.byPriority.first, withWaiting ? waiting.byPriority.first : nil)
        }

        func oldest(withWaiting: Bool) -> Heap<Key, Position>.Element? {
            Self.first(moving.byPlace.first, withWaiting ? waiting.byPlace.first : nil)
        }

        mutating func set(_ position: Position?, for key: Key, in stage: Stage) {
            switch stage {
            case .waiting: waiting.set(position, for: key)
            case .moving: moving.set(position, for: key)
            case .running: break
            }
        }

        mutating func setHeads<Other>(of lines: Lines<Other>, for key: Key) {
            waiting.setHeads(of: lines.waiting, for: key)
            moving.setHeads(of: lines.moving, for: key)
        }

        private static func first(
            _ left: Heap<Key, Position>.Element?, _ right: Heap<Key, Position>.Element?
        ) -> Heap<Key, Position>.Element? {
            guard let left, let right else { return left ?? right }
            return left.order < right.order ? left : right
        }
    }
}
