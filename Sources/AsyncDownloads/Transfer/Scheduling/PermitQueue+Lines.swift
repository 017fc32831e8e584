// MARK: - The next permit

extension PermitQueue {
    /// Returns the slot of the request that gets the next permit, or nil if no request can run.
    ///
    /// Each host also counts its grants. Otherwise, a request would starve if its host were at its limit at every grant
    /// by age. Two successive grants are never made by age, so the most urgent request gets at least one of any two
    /// grants.
    mutating func next(at now: Duration) -> Int32? {
        guard let host = firstHost(\.urgentHeads, \.urgentOrigins, at: now), let urgent = mostUrgent(ofHost: host)
        else { return nil }
        // Only permits that don't count for other origins are left.
        let excludesSilent = holderCount >= limit
        if excludesSilent, isSilent(urgent) { return nil }
        var chosen = urgent
        if !turn.wasByAge {
            if turn.isDue, let host = firstHost(\.oldestHeads, \.oldestOrigins, at: now),
                let oldest = oldest(ofHost: host), !excludesSilent || !isSilent(oldest)
            {
                turn.isDue = false
                chosen = oldest
            } else if table.host(host).passedOver >= AgeTurn.period - 1 {
                while let origin = table.host(host).oldestOrigins.first?.key, blocks(origin, at: now) {}
                let oldest = oldest(ofHost: host) ?? urgent
                let isBelowLimit = table.host(host).isBelowLimit(
                    ownSilentCount: table.origin(requests[oldest].origin).silentCount)
                if isBelowLimit, !excludesSilent || !isSilent(oldest) { chosen = oldest }
            }
        }
        turn.wasByAge = chosen != urgent
        return chosen
    }

    /// Returns the host of the first request in line, after removing hosts and origins to which no request may be sent.
    private mutating func firstHost(
        _ heads: KeyPath<Self, Heap<Int32, Position>>, _ origins: KeyPath<HostTable.HostEntry, Heap<Int32, Position>>,
        at now: Duration
    ) -> Int32? {
        while let host = self[keyPath: heads].first?.key {
            if let origin = table.host(host)[keyPath: origins].first?.key, blocks(origin, at: now) { continue }
            guard let time = table.host(host).limit.nextTime(at: now) else { return host }
            pausedHosts[host] = time
            hostChanged(host)
        }
        return nil
    }

    /// Blocks an origin to which no request may be sent now, and returns whether the origin was blocked.
    private mutating func blocks(_ slot: Int32, at now: Duration) -> Bool {
        let origin = table.origin(slot)
        guard let time = origin.state.nextTime(hasImpatient: origin.impatientCount > 0, at: now) else { return false }
        pausedOrigins[slot] = time
        table.updateOrigin(slot) { $0.isBlocked = true }
        changed(slot)
        return true
    }

    /// Unblocks an origin; the next grant determines whether a request may be sent to it.
    mutating func unblock(_ slot: Int32) {
        pausedOrigins[slot] = nil
        table.updateOrigin(slot) { $0.isBlocked = false }
        changed(slot)
    }

    /// Returns whether a request is waiting because of the state of its origin.
    ///
    /// - Parameter countsRunning: Whether a request that a silent origin hasn't answered counts as waiting.
    func isHeldUp(_ ticket: Ticket, countsRunning: Bool) -> Bool {
        guard let request = request(ticket) else { return false }
        return switch request.stage {
        case .waiting: request.isDelayed || Self.isHeldUp(table.origin(request.origin), at: latest)
        case .running: countsRunning && !request.isAccepted && isSilent(ticket.slot)
        case .finishing: false
        }
    }

    private func isSilent(_ slot: Int32) -> Bool { table.origin(requests[slot].origin).state.silence.isPresent }
}

// MARK: - Lines of waiting requests

extension PermitQueue {
    /// Returns the slot of the waiting request of a host that is first by priority.
    func mostUrgent(ofHost host: Int32) -> Int32? {
        table.host(host).urgentOrigins.first.flatMap { table.origin($0.key).mostUrgent }
    }

    /// Returns the slot of the waiting request of a host that is first by age.
    func oldest(ofHost host: Int32) -> Int32? {
        table.host(host).oldestOrigins.first.flatMap { table.origin($0.key).oldest(in: requests) }
    }

    /// Makes a request wait outside the lines.
    mutating func delay(_ slot: Int32, until end: Duration) {
        delayed[slot] = end
        requests.update(slot) { $0.isDelayed = true }
        table.updateOrigin(requests[slot].origin) { $0.delayedCount += 1 }
    }

    /// Ends a request's wait outside the lines; a call of ``lineUp(_:)`` or ``changed(_:)`` must follow.
    mutating func endDelay(_ slot: Int32) {
        delayed[slot] = nil
        requests.update(slot) { $0.isDelayed = false }
        table.updateOrigin(requests[slot].origin) { $0.delayedCount -= 1 }
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
        // The entry is read in place, because this method is called several times for each request.
        let (host, silence, silentChange, urgent, oldest) = table.updateOrigin(slot) { origin in
            if origin.waitingCount == 0 {
                pausedOrigins[slot] = nil
                origin.isBlocked = false
            }
            let silence = origin.state.silence
            let silent = silence.isPresent ? origin.runningCount - origin.servingCount : 0
            let waiting = Self.isHeldUp(origin, at: latest) ? origin.waitingCount : 0
            let silentChange = silent - origin.silentCount
            silentCount += silentChange
            // A request that is granted changes both numbers, and their sum remains the same.
            heldUp.change(by: silentChange)
            heldUp.change(by: waiting - origin.heldUpCount)
            (origin.heldUpCount, origin.silentCount) = (waiting, silent)
            var urgent = origin.isBlocked ? nil : origin.mostUrgent.map { requests[$0].position }
            urgent?.isSilent = silence.isPresent
            urgent?.silentCount = silent
            var oldest = origin.isBlocked ? nil : origin.oldest(in: requests).map { requests[$0].order }
            // Without another request, the silence couldn't end.
            oldest?.isSilent = silence.isPresent && silence.isResponseExpected
            oldest?.silentCount = silent
            return (origin.host, silence, silentChange, urgent, oldest)
        }
        silences[slot] = silence.startTime
        table.updateHost(host) { host in
            host.silentCount += silentChange
            host.urgentOrigins[slot] = urgent
            host.oldestOrigins[slot] = oldest
        }
        hostChanged(host)
        table.removeIfIdle(slot, at: latest)
    }

    /// Returns whether the waiting requests of an origin wait because of its state.
    private static func isHeldUp(_ origin: HostTable.OriginEntry, at now: Duration) -> Bool {
        (origin.isBlocked || origin.state.silence.isPresent) && origin.state.hindrance(at: now) != nil
    }

    mutating func hostChanged(_ slot: Int32) {
        (urgentHeads[slot], oldestHeads[slot]) = table.updateHost(slot) { host -> (Position?, Position?) in
            if host.waitingCount == 0 { pausedHosts[slot] = nil }
            guard pausedHosts[slot] == nil else { return (nil, nil) }
            var (urgent, oldest) = (host.urgentOrigins.first?.order, host.oldestOrigins.first?.order)
            if let count = urgent?.silentCount {
                urgent?.runningCount = host.runningCount(ownSilentCount: count)
                if !host.isBelowLimit(ownSilentCount: count) { urgent = nil }
            }
            if let count = oldest?.silentCount, !host.isBelowLimit(ownSilentCount: count) { oldest = nil }
            return (urgent, oldest)
        }
    }
}
