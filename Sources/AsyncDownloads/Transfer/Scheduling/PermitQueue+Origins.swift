// MARK: - Requests to origins

extension PermitQueue {
    /// A request that has begun and has not been answered.
    struct Begun: Sendable {
        /// The number that ``HostTable`` has assigned to the request.
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
        /// The next step of the transfer, if it couldn't connect, or if its request got no response.
        var step: Outage.Step?
        /// Whether a failure or refusal is assumed to concern all requests to the origin.
        var concernsOrigin = false
        /// The waiting requests that were removed because their origin is unreachable, or has accepted no request for too
        /// long.
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
        requests.update(ticket.slot) { $0.reservation = nil }
        return began(request.origin, ticket, at: now)
    }

    /// Begins an extra request of a running transfer; the result is nil if none may be sent now.
    mutating func beginExtra(for pair: OriginPair, at now: Duration) -> Begun? {
        latest = now
        let slot = table.slot(of: pair, at: now)
        defer { changed(slot) }
        let origin = table.origin(slot)
        guard origin.state.mayBeginExtra(isAlone: origin.unansweredCount == 0, at: now), reserve(slot, at: now) else {
            return nil
        }
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
        silences[slot] = table.origin(slot).state.silence.startTime
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
        let (wasSilent, silentCount) = (table.origin(slot).state.silence.isPresent, table.origin(slot).silentCount)
        let context = OriginState.Context(
            patience: table.settings.patience, lastNumber: table.lastNumber,
            isServing: table.origin(slot).servingCount > 0, jitter: jitter.nextFraction(), now: now)
        let isIgnored = begun.ticket == nil && !answer.isAccepted
        let consequence = table.updateOrigin(slot) { origin in
            origin.unansweredCount -= 1
            return origin.state.answered(
                begun.number, isIgnored ? .nothing : answer, of: begun.ticket, context)
        }
        let meaning =
            begun.ticket == nil
            ? .nothing
            : answer.ofHost(isRefusal: consequence.isRefusal, isOriginSilent: wasSilent && !context.isServing)
        table.updateHost(host) { host in
            host.limit.answered(
                begun.number, meaning, lastNumber: context.lastNumber,
                runningCount: host.runningCount(ownSilentCount: silentCount), at: now)
        }
        if answer.isResponse { table.answered(slot, isAccepted: answer.isAccepted) }
        // After a redirect to an origin that has never answered, a transfer uses its own retries.
        let waitsForOrigin = table.origin(slot).pair.isDirect || table.origin(slot).state.hasAnswered
        pausedHosts[host] = nil
        let failed = waiting(slot, retryLimit: consequence.failingRetryLimit).sorted()
        for ticket in failed { leaveLine(ticket.slot) }
        let isHindered = table.origin(slot).state.hindrance(at: now) != nil
        let hindered = consequence.notifiesWaiting ? waiting(slot, retryLimit: .max) : []
        unblock(slot)
        for ticket in failed { requests.remove(at: ticket.slot) }
        return Consequence(
            permitsGrants: wasBlocked || wasSilent || isHindered || !failed.isEmpty,
            step: waitsForOrigin ? consequence.step : nil,
            concernsOrigin: consequence.concernsOrigin, failed: failed, hindered: hindered)
    }

    private mutating func setAccepted(_ isAccepted: Bool, _ ticket: Ticket, _ slot: Int32) {
        guard let request = request(ticket), request.stage == .running, request.origin == slot,
            request.isAccepted != isAccepted
        else { return }
        requests.update(ticket.slot) { $0.isAccepted = isAccepted }
        table.updateOrigin(slot) { $0.servingCount += isAccepted ? 1 : -1 }
    }

    /// Returns the waiting requests of an origin whose transfers permit at most this number of retries.
    func waiting(_ slot: Int32, retryLimit: Int) -> [Ticket] {
        let origin = table.origin(slot)
        guard retryLimit > 0 || retryLimit == 0 && origin.impatientCount > 0 else { return [] }
        return origin.lines.flatMap(\.all).filter { requests[$0].retryLimit <= retryLimit }
            .map { Ticket(number: requests[$0].number, slot: $0) }
    }
}

extension RequestAnswer {
    /// Returns the meaning of the answer for the limits of the host.
    ///
    /// - Parameters:
    ///   - isRefusal: Whether a refusal may apply to the whole host.
    ///   - isOriginSilent: Whether the origin sends nothing to any transfer, which has other reasons than their number.
    fileprivate func ofHost(isRefusal: Bool, isOriginSilent: Bool) -> HostLimit.Answer {
        switch self {
        case .accepted: .accepted
        case .refused(let retryAfter, _) where isRefusal: .refused(retryAfter: retryAfter)
        case .unanswered where isOriginSilent: .nothing
        case .reset, .unanswered: .lost
        case .redirected, .refused, .failed, .lost, .unreachable, .nothing: .nothing
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
            if request.isReserved { origin.state.pace.ended() }
            return (origin.host, origin.state.withdrawn(ticket))
        }
        table.updateHost(host) { host in
            host.runningCount -= 1
            // A transfer that moves to another origin of the same host is still running.
            if request.isAccepted, !staysAtHost { host.limit.succeeded(isInDemand: host.waitingCount > 0) }
            if let time = request.reservation, !staysAtHost { host.limit.withdraw(reservedAt: time) }
        }
        // A withdrawn reservation may permit another request.
        if request.isReserved { pausedHosts[host] = nil }
        if wasProbe || request.isReserved { unblock(request.origin) } else { changed(request.origin) }
    }
}
