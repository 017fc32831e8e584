/// A value without effects that decides which transfers may run, and which one is next (rule 58).
///
/// At most `limit` transfers have a permit, and each host limits how many of them use it, and when (``HostLimit``). The
/// highest priority goes first, and within one priority the lowest place in line. Every eighth permit goes to the oldest
/// request whose host is below its limit, so that a stream of urgent requests does not starve the others. A host at its
/// limit delays only its own requests.
///
/// A transfer that has all bytes may yield its permit while it verifies and places the file. Another one gets a permit
/// in its place if no more than `openLimit` transfers have open files.
///
/// A permit includes one request to the host. Each further request has to be permitted as well
/// (``begin(_:at:)``).
///
/// Every operation and every single grant takes O(log n) steps for n requests in the queue.
struct PermitQueue: Sendable {
    private let limit: Int
    private let openLimit: Int
    private var requests = SlotTable<Request>()
    private var hosts: Hosts
    /// The hosts below their limits to which no request may be sent at present, with the time until then.
    private var pausedHosts = Heap<Int32, Duration>()
    /// The first requests in line by priority and by age, one for each host below its limit.
    private var urgentHeads = Heap<Int32, Position>()
    private var oldestHeads = Heap<Int32, Position>()
    private var lastNumber = 0
    private var turn = AgeTurn()

    /// Whether no request waits or has a permit.
    var isEmpty: Bool { requests.count == 0 }

    /// The number of requests that have a permit.
    private(set) var holderCount = 0

    /// The number of requests whose transfers have yielded their permits and still have open files.
    private(set) var finishingCount = 0

    /// The number of requests that wait for a permit.
    var waitingCount: Int { requests.count - holderCount - finishingCount }

    /// Whether the limits allow another permit.
    private var hasRoom: Bool { holderCount < limit && holderCount + finishingCount < openLimit }

    /// Returns the number of requests that have a permit for the host.
    func runningCount(_ host: String) -> Int { hosts[host]?.runningCount ?? 0 }

    /// Returns whether a request waits for the host, or, when all permits are in use, for any host.
    func isWaiting(for host: String) -> Bool {
        if !hasRoom, waitingCount > 0 { return true }
        return hosts[host]?.isInDemand ?? false
    }

    /// The earliest time at which ``grant(at:)`` may grant a permit without another change of the queue.
    var nextTime: Duration? { pausedHosts.first?.order }

    /// Creates an empty queue; a limit below 1 counts as 1.
    ///
    /// - Parameter openLimit: The maximum number of transfers with open files; nil, or a number below `limit`, for the
    ///   same number.
    init(limit: Int, openLimit: Int? = nil, _ settings: HostLimit.Settings) {
        self.limit = max(1, limit)
        self.openLimit = max(self.limit, openLimit ?? 0)
        hosts = Hosts(settings)
    }

    /// Returns the stage of a request, or nil for a ticket that is not in the queue.
    func stage(of ticket: Ticket) -> Stage? { request(ticket)?.stage }

    /// Adds a request for a permit, which ``grant()`` grants.
    ///
    /// The ticket is the place in line. A retry keeps the place of its transfer: `place` is the transfer's first
    /// ticket.
    mutating func enqueue(host: String, priority: DownloadRequest.Priority, place: Ticket? = nil) -> Ticket {
        lastNumber += 1
        let host = hosts.slot(of: host)
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

    /// Moves a permit to another host if that host permits a request now; otherwise releases the permit.
    ///
    /// - Returns: Whether the ticket still has a permit.
    mutating func move(_ ticket: Ticket, to name: String, at now: Duration) -> Bool {
        guard let request = request(ticket), request.stage == .running else { return false }
        guard hosts[request.host].name != name else { return true }
        let host = hosts.slot(of: name)
        guard hosts[host].isBelowLimit, hosts[host].limit.nextTime(at: now) == nil else {
            hostChanged(host)
            release(ticket)
            return false
        }
        // First, because a host without requests is removed.
        hosts.update(host) { $0.enter(at: now) }
        leaveHost(request)
        requests.update(ticket.slot) { ($0.host, $0.isReserved, $0.isAccepted) = (host, true, false) }
        hostChanged(host)
        return true
    }

    /// Lets another transfer use a permit whose transfer needs its host no more, and still has open files.
    mutating func yield(_ ticket: Ticket) {
        guard let request = request(ticket), request.stage == .running else { return }
        holderCount -= 1
        finishingCount += 1
        leaveHost(request)
        requests.update(ticket.slot) { $0.stage = .finishing }
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
            leaveHost(request)
        case .finishing:
            finishingCount -= 1
        }
        requests.remove(at: ticket.slot)
    }

    /// Grants all permits that are available now, and returns their tickets in the order of the grants.
    mutating func grant(at now: Duration) -> [Ticket] {
        var granted: [Ticket] = []
        while let (host, time) = pausedHosts.first, time <= now { continueHost(host) }
        while hasRoom, let slot = next(at: now) {
            run(slot, at: now)
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
    private mutating func next(at now: Duration) -> Int32? {
        while let host = urgentHeads.first?.key, pauses(host, at: now) {}
        guard let host = urgentHeads.first?.key, let urgent = mostUrgent(of: host) else { return nil }
        var chosen = urgent
        if !turn.wasByAge {
            while turn.isDue, let host = oldestHeads.first?.key, pauses(host, at: now) {}
            if turn.isDue, let oldest = oldestHeads.first.flatMap({ oldest(of: $0.key) }) {
                turn.isDue = false
                chosen = oldest
            } else if hosts[host].passedOver >= AgeTurn.period - 1, let oldest = oldest(of: host) {
                chosen = oldest
            }
        }
        turn.wasByAge = chosen != urgent
        return chosen
    }

    /// Pauses a host to which no request may be sent now, and returns whether that is so.
    private mutating func pauses(_ host: Int32, at now: Duration) -> Bool {
        guard let time = hosts[host].limit.nextTime(at: now) else { return false }
        pausedHosts[host] = time
        hostChanged(host)
        return true
    }

    private mutating func run(_ slot: Int32, at now: Duration) {
        let host = requests[slot].host
        let isOldest = oldest(of: host) == slot
        holderCount += 1
        turn.granted()
        leaveLine(slot)
        hosts.update(host) { host in
            host.enter(at: now)
            if isOldest {
                host.passedOver = 0
            } else if !host.isBelowLimit {
                host.passedOver += 1
            }
        }
        requests.update(slot) { ($0.stage, $0.isReserved, $0.isAccepted) = (.running, true, false) }
        hostChanged(host)
    }
}

// MARK: - Requests to hosts

extension PermitQueue {
    /// Begins a request of a transfer to the host of its permit, and returns the number of the request.
    ///
    /// If the host permits no request now, the permit is released, and the result is nil.
    mutating func begin(_ ticket: Ticket, at now: Duration) -> Int? {
        guard let request = request(ticket), request.stage == .running else { return nil }
        let number: Int? = hosts.update(request.host) { host in
            if request.isReserved {
                // The cool-down has begun after the grant.
                guard host.limit.coolDownEnd <= now else { return nil }
            } else {
                guard host.limit.nextTime(at: now) == nil else { return nil }
                host.limit.reserve(at: now)
            }
            return host.limit.begin()
        }
        if number == nil { release(ticket) } else { requests.update(ticket.slot) { $0.isReserved = false } }
        return number
    }

    /// Begins an extra request of a transfer that runs, and returns the number of the request.
    ///
    /// The result is nil if the host permits no request now.
    mutating func beginExtra(host name: String, at now: Duration) -> Int? {
        let host = hosts.slot(of: name)
        defer { hostChanged(host) }
        return hosts.update(host) { host in
            guard host.limit.nextTime(at: now) == nil else { return nil }
            host.limit.reserve(at: now)
            return host.limit.begin()
        }
    }

    /// Records the answer to a request that was begun.
    ///
    /// - Parameter ticket: The permit under which the request was begun; nil for an extra request.
    /// - Returns: Whether permits may be granted because of the answer.
    mutating func answered(
        _ number: Int, host name: String, _ answer: HostLimit.Answer, ticket: Ticket?, at now: Duration
    ) -> Bool {
        let host = hosts.slot(of: name)
        hosts.update(host) { host in
            host.limit.answered(
                number, answer, isExtra: ticket == nil, runningCount: host.runningCount, at: now)
        }
        if let ticket, let request = request(ticket), request.stage == .running, request.host == host {
            requests.update(ticket.slot) { $0.isAccepted = answer == .accepted }
        }
        let wasPaused = pausedHosts[host] != nil
        continueHost(host)
        return wasPaused
    }

    /// Determines again whether a request may be sent to the host.
    private mutating func continueHost(_ host: Int32) {
        pausedHosts[host] = nil
        hostChanged(host)
    }

    private mutating func leaveHost(_ request: Request) {
        hosts.update(request.host) { $0.leave(request) }
        hostChanged(request.host)
    }
}

// MARK: - Lines

extension PermitQueue {
    private func mostUrgent(of host: Int32) -> Int32? {
        hosts[host].lines.lazy.compactMap(\.first).first
    }

    private func oldest(of host: Int32) -> Int32? {
        hosts[host].lines.lazy.compactMap(\.first).min { requests[$0].order < requests[$1].order }
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

    private mutating func hostChanged(_ slot: Int32) {
        let host = hosts[slot]
        if !host.isInDemand { pausedHosts[slot] = nil }
        let mayRun = host.isBelowLimit && pausedHosts[slot] == nil
        urgentHeads[slot] = mayRun ? mostUrgent(of: slot).map { requests[$0].position } : nil
        oldestHeads[slot] = mayRun ? oldest(of: slot).map { requests[$0].order } : nil
        if host.isIdle { hosts.remove(at: slot) }
    }
}
