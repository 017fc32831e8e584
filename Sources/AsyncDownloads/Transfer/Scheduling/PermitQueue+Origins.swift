// MARK: - Requests to origins

extension PermitQueue {
    /// A request that has begun and has not been answered.
    struct Begun: Sendable {
        /// The number that ``HostLimit`` has assigned to the request.
        let number: Int
        /// The slot of the origin.
        let origin: Int32
        /// The permit under which it was begun; nil for an extra request.
        let ticket: Ticket?
    }

    /// The consequence of an answer.
    struct Consequence: Sendable {
        /// Whether permits may be granted because of the answer.
        var permitsGrants = false
        /// The next step of the transfer, if it couldn't connect.
        var step: Outage.Step?
        /// The waiting requests that were removed because their origin is unreachable.
        var failed: [Ticket] = []
        /// The requests that now wait longer because of a cool-down or an unreachable origin.
        var hindered: [Ticket] = []
    }

    /// Begins a request of a transfer to the origin of its permit.
    ///
    /// If no request may be sent now, the permit is released, and the result is nil.
    ///
    /// - Parameter resource: The resource of the request; nil if it was never refused.
    mutating func begin(
        _ ticket: Ticket, _ resource: @autoclosure () -> ResourceID? = nil, at now: Duration
    ) -> Begun? {
        latest = now
        guard let request = request(ticket), request.stage == .running else { return nil }
        let origin = table.origin(request.origin)
        guard origin.state.mayBegin(ticket, at: now), origin.state.refusedResources.end(of: resource(), at: now) == nil,
            request.isReserved || reserve(request.origin, at: now)
        else {
            release(ticket)
            return nil
        }
        requests.update(ticket.slot) { $0.isReserved = false }
        return began(request.origin, ticket, at: now)
    }

    /// Begins an extra request of a running transfer; the result is nil if none may be sent now.
    mutating func beginExtra(for pair: OriginPair, at now: Duration) -> Begun? {
        latest = now
        let slot = table.slot(of: pair, at: now)
        defer { changed(slot) }
        let origin = table.origin(slot)
        guard origin.state.mayBeginExtra(at: now), reserve(slot, at: now) else { return nil }
        return began(slot, nil, at: now)
    }

    /// Reserves a request if the paces of the origin and its host permit one now; returns whether they do.
    private mutating func reserve(_ slot: Int32, at now: Duration) -> Bool {
        let origin = table.origin(slot)
        guard origin.state.pace.nextTime(at: now) == nil, table.host(origin.host).limit.nextTime(at: now) == nil
        else { return false }
        table.reserve(slot, countsForHost: true, at: now)
        return true
    }

    private mutating func began(_ slot: Int32, _ ticket: Ticket?, at now: Duration) -> Begun {
        let number = table.begin()
        table.updateOrigin(slot) { origin in
            origin.unansweredCount += 1
            origin.state.began(number, ticket, at: now)
        }
        return Begun(number: number, origin: slot, ticket: ticket)
    }

    /// Records the answer to a request that has begun; called once for each request.
    ///
    /// The refusal or failure of an extra request affects only the extra requests to the host.
    mutating func answered(_ begun: Begun, _ answer: RequestAnswer, at now: Duration) -> Consequence {
        latest = now
        let slot = begun.origin
        if let ticket = begun.ticket { setAccepted(answer.isAccepted, ticket, slot) }
        let host = table.origin(slot).host
        let wasBlocked = table.origin(slot).isBlocked || pausedHosts[host] != nil
        let wasHindered = table.origin(slot).state.hindrance(at: now) != nil
        let context = OriginState.Context(
            patience: table.settings.patience, lastNumber: table.lastNumber,
            isServing: table.origin(slot).servingCount > 0, jitter: jitter.nextFraction(), now: now)
        let isIgnored = begun.ticket == nil && !answer.isAccepted
        let consequence = table.updateOrigin(slot) { origin in
            origin.unansweredCount -= 1
            return origin.state.answered(begun.number, isIgnored ? .nothing : answer, context)
        }
        let meaning = isIgnored ? .nothing : answer.ofHost(isRefusal: consequence.isRefusal)
        table.updateHost(host) { host in
            host.limit.answered(
                begun.number, meaning, lastNumber: context.lastNumber, runningCount: host.runningCount, at: now)
        }
        if answer.isResponse { table.answered(slot) }
        pausedHosts[host] = nil
        let failed = waiting(slot, retryLimit: consequence.failingRetryLimit).sorted()
        for ticket in failed { leaveLine(ticket.slot) }
        let isHindered = table.origin(slot).state.hindrance(at: now)?.lasts(at: now) ?? false
        let hindered = isHindered && !wasHindered ? waiting(slot, retryLimit: .max) : []
        unblock(slot)
        for ticket in failed { requests.remove(at: ticket.slot) }
        return Consequence(
            permitsGrants: wasBlocked || isHindered || !failed.isEmpty, step: consequence.step, failed: failed,
            hindered: hindered)
    }

    private mutating func setAccepted(_ isAccepted: Bool, _ ticket: Ticket, _ slot: Int32) {
        guard let request = request(ticket), request.stage == .running, request.origin == slot,
            request.isAccepted != isAccepted
        else { return }
        requests.update(ticket.slot) { $0.isAccepted = isAccepted }
        table.updateOrigin(slot) { $0.servingCount += isAccepted ? 1 : -1 }
    }

    /// Returns the waiting requests of an origin whose transfers permit at most this number of retries.
    private func waiting(_ slot: Int32, retryLimit: Int) -> [Ticket] {
        let origin = table.origin(slot)
        guard retryLimit > 0 || retryLimit == 0 && origin.impatientCount > 0 else { return [] }
        return origin.lines.flatMap(\.all).filter { requests[$0].retryLimit <= retryLimit }
            .map { Ticket(number: requests[$0].number, slot: $0) }
    }
}

extension RequestAnswer {
    fileprivate var isAccepted: Bool { if case .accepted = self { true } else { false } }

    /// Whether the origin has sent a response.
    fileprivate var isResponse: Bool {
        switch self {
        case .accepted, .refused, .failed: true
        case .lost, .unreachable, .unanswered, .nothing: false
        }
    }

    /// Returns the meaning of the answer for the limits of the host.
    ///
    /// - Parameter isRefusal: Whether a refusal may apply to the whole host.
    fileprivate func ofHost(isRefusal: Bool) -> HostLimit.Answer {
        switch self {
        case .accepted: .accepted
        case .refused(let retryAfter, _) where isRefusal: .refused(retryAfter: retryAfter)
        case .lost: .lost
        case .refused, .failed, .unreachable, .unanswered, .nothing: .nothing
        }
    }
}

// MARK: - Running requests

extension PermitQueue {
    /// Adds a running request to an origin and its host.
    mutating func enter(_ ticket: Ticket, _ slot: Int32, at now: Duration) {
        let host = table.updateOrigin(slot) { origin in
            origin.runningCount += 1
            origin.state.permitted(ticket, at: now)
            return origin.host
        }
        table.updateHost(host) { $0.runningCount += 1 }
    }

    /// Removes a running request from its origin and its host.
    ///
    /// - Parameter staysAtHost: Whether the transfer has moved to another origin of the same host.
    mutating func leave(_ ticket: Ticket, _ request: Request, staysAtHost: Bool = false) {
        let (host, wasProbe) = table.updateOrigin(request.origin) { origin in
            origin.runningCount -= 1
            if request.isAccepted { origin.servingCount -= 1 }
            if request.isReserved { origin.state.withdraw() }
            return (origin.host, origin.state.withdrawn(ticket))
        }
        table.updateHost(host) { host in
            host.runningCount -= 1
            // A transfer that moves to another origin of the same host is still running.
            if request.isAccepted, !staysAtHost { host.limit.succeeded(isInDemand: host.waitingCount > 0) }
        }
        if wasProbe { unblock(request.origin) } else { changed(request.origin) }
    }
}

// MARK: - Lines

extension PermitQueue {
    /// Returns the slot of the waiting request of a host that is first by priority.
    func mostUrgent(ofHost host: Int32) -> Int32? {
        table.host(host).urgentOrigins.first.flatMap { mostUrgent(of: $0.key) }
    }

    /// Returns the slot of the waiting request of a host that is first by age.
    func oldest(ofHost host: Int32) -> Int32? { table.host(host).oldestOrigins.first.flatMap { oldest(of: $0.key) } }

    private func mostUrgent(of origin: Int32) -> Int32? {
        table.origin(origin).lines.lazy.compactMap(\.first).first
    }

    private func oldest(of origin: Int32) -> Int32? {
        table.origin(origin).lines.lazy.compactMap(\.first).min { requests[$0].order < requests[$1].order }
    }

    /// Makes a request wait outside the lines.
    mutating func park(_ slot: Int32, until end: Duration) {
        parked[slot] = end
        requests.update(slot) { $0.isParked = true }
        table.updateOrigin(requests[slot].origin) { $0.parkedCount += 1 }
    }

    /// Ends a request's wait outside the lines; a call of ``lineUp(_:)`` or ``changed(_:)`` must follow.
    mutating func unpark(_ slot: Int32) {
        parked[slot] = nil
        requests.update(slot) { $0.isParked = false }
        table.updateOrigin(requests[slot].origin) { $0.parkedCount -= 1 }
    }

    mutating func lineUp(_ slot: Int32) {
        let request = requests[slot]
        let host = table.updateOrigin(request.origin) { origin in
            origin.lines[HostTable.OriginEntry.line(request.rank)].insert(slot, in: &requests)
            origin.waitingCount += 1
            if !request.isPatient { origin.impatientCount += 1 }
            return origin.host
        }
        table.updateHost(host) { $0.waitingCount += 1 }
        // A request that isn't patient may be sent immediately.
        if request.isPatient { changed(request.origin) } else { unblock(request.origin) }
    }

    /// Removes a waiting request from its line; a call of ``changed(_:)`` must follow.
    mutating func leaveLine(_ slot: Int32) {
        let request = requests[slot]
        let host = table.updateOrigin(request.origin) { origin in
            origin.lines[HostTable.OriginEntry.line(request.rank)].remove(slot, in: &requests)
            origin.waitingCount -= 1
            if !request.isPatient { origin.impatientCount -= 1 }
            return origin.host
        }
        table.updateHost(host) { $0.waitingCount -= 1 }
    }

    /// Updates the positions of an origin and its host in the lines, and removes the origin or the host if it has no
    /// requests.
    mutating func changed(_ slot: Int32) {
        if table.origin(slot).waitingCount == 0 {
            pausedOrigins[slot] = nil
            table.updateOrigin(slot) { $0.isBlocked = false }
        }
        let origin = table.origin(slot)
        let heldUp = origin.isBlocked && origin.state.hindrance(at: latest) != nil ? origin.waitingCount : 0
        self.heldUp.change(by: heldUp - origin.heldUpCount)
        table.updateOrigin(slot) { $0.heldUpCount = heldUp }
        let urgent = origin.isBlocked ? nil : mostUrgent(of: slot).map { requests[$0].position }
        let oldest = origin.isBlocked ? nil : oldest(of: slot).map { requests[$0].order }
        table.updateHost(origin.host) { host in
            host.urgentOrigins[slot] = urgent
            host.oldestOrigins[slot] = oldest
        }
        hostChanged(origin.host)
        table.removeIfIdle(slot, at: latest)
    }

    mutating func hostChanged(_ slot: Int32) {
        let host = table.host(slot)
        if host.waitingCount == 0 { pausedHosts[slot] = nil }
        let mayRun = host.isBelowLimit && pausedHosts[slot] == nil
        urgentHeads[slot] = mayRun ? host.urgentOrigins.first?.order : nil
        oldestHeads[slot] = mayRun ? host.oldestOrigins.first?.order : nil
    }
}
