/// A downloader's record of the hosts that it has connections with, and the leases of further connections.
///
/// A transfer that runs has one connection, which needs no lease. Each further connection of a transfer needs a lease.
/// Leases can be revoked, so that further connections of one file never delay another file.
struct HostConnections: Sendable {
    /// The maximum number of recorded hosts.
    static let capacity = 256
    /// The most connections with one host, over all transfers.
    static let maximumCount = HostPool.maximumExchangeCount
    /// After how long one more connection than the ceiling is tried.
    private static let ceilingRecovery = Duration.seconds(600)
    private static let firstCoolDown = Duration.seconds(30)
    private static let longestCoolDown = Duration.seconds(600)

    /// A further connection of a transfer.
    private struct Lease {
        let id: LeaseID
        let host: Origin
    }

    private struct Host {
        var runningCount = 0
        var leaseCount = 0
        var ceiling: (count: Int, since: Duration)?
        var worthwhile = 1
        var ignoresRanges = false
        var hasInconsistentValidators = false
        var coolDownEnd = Duration.zero
        /// The number of refusals without `Retry-After` since a connection was accepted.
        var refusalCount = 0
        var lastUse: Duration

        /// Whether a transfer or a lease refers to it.
        var isUsed: Bool { runningCount > 0 || leaseCount > 0 }

        /// The most connections over all transfers.
        func limit(at now: Duration) -> Int {
            guard let ceiling else { return HostConnections.maximumCount }
            let recovered = Int((now - ceiling.since) / HostConnections.ceilingRecovery)
            return min(HostConnections.maximumCount, ceiling.count + recovered)
        }
    }

    private var hosts: [Origin: Host] = [:]
    /// The leases in the order in which they were granted.
    private var leases: [Lease] = []
    private var numbers = SerialNumbers<LeaseID>()

    private mutating func update<Value>(_ origin: Origin, at now: Duration, _ body: (inout Host) -> Value) -> Value {
        if hosts[origin] == nil, hosts.count >= Self.capacity { forgetOldest() }
        return body(&hosts[origin, default: Host(lastUse: now)])
    }

    private mutating func forgetOldest() {
        let unused = hosts.filter { !$0.value.isUsed }
        guard let oldest = unused.min(by: { $0.value.lastUse < $1.value.lastUse }) else { return }
        hosts[oldest.key] = nil
    }
}

/// Identifies the lease of a further connection.
struct LeaseID: SerialIdentifier {
    let rawValue: Int
}

// MARK: - Leases

extension HostConnections {
    /// Records that a transfer runs, and returns the leases that are revoked for it, the newest first.
    mutating func transferStarted(_ origin: Origin, at now: Duration) -> [LeaseID] {
        let excess = update(origin, at: now) { host in
            host.runningCount += 1
            host.lastUse = now
            return host.runningCount + host.leaseCount - host.limit(at: now)
        }
        let revoked = leases.reversed().filter { $0.host == origin }.prefix(max(0, excess)).map(\.id)
        for lease in revoked { release(lease, at: now) }
        return revoked
    }

    /// Records that a transfer doesn't run any more.
    mutating func transferEnded(_ origin: Origin, at now: Duration) {
        update(origin, at: now) { host in
            precondition(host.runningCount > 0, "a transfer that did not run has ended")
            host.runningCount -= 1
            host.lastUse = now
        }
    }

    /// Grants the lease of a further connection to a transfer that has `count` connections; nil if there is none.
    ///
    /// - Parameter isTransferWaiting: Whether a transfer waits for a permit of the host or of the downloader.
    mutating func lease(_ origin: Origin, count: Int, isTransferWaiting: Bool, at now: Duration) -> LeaseID? {
        guard !isTransferWaiting, mayRequest(origin, at: now), count < share(of: origin, at: now) else { return nil }
        let isGranted = update(origin, at: now) { host in
            guard host.runningCount + host.leaseCount < host.limit(at: now) else { return false }
            host.leaseCount += 1
            host.lastUse = now
            return true
        }
        guard isGranted else { return nil }
        let id = numbers.next()
        leases.append(Lease(id: id, host: origin))
        return id
    }

    /// Returns a lease; one that was revoked or returned before is ignored.
    mutating func release(_ id: LeaseID, at now: Duration) {
        guard let index = leases.firstIndex(where: { $0.id == id }) else { return }
        let lease = leases.remove(at: index)
        update(lease.host, at: now) { $0.leaseCount -= 1 }
    }

    /// Returns the most connections of one transfer, so that the files of a host share its connections equally.
    func share(of origin: Origin, at now: Duration) -> Int {
        guard let host = hosts[origin] else { return Self.maximumCount }
        return max(1, min(Self.maximumCount / max(1, host.runningCount), host.limit(at: now)))
    }

    /// Returns whether a further connection with the host may be requested now.
    func mayRequest(_ origin: Origin, at now: Duration) -> Bool {
        guard let host = hosts[origin] else { return true }
        return !host.ignoresRanges && !host.hasInconsistentValidators && now >= host.coolDownEnd
    }
}

// MARK: - What a host has shown

extension HostConnections {
    /// Returns the number of connections that was worth it in an earlier transfer; 1 if nothing is known.
    func worthwhile(_ origin: Origin) -> Int { hosts[origin]?.worthwhile ?? 1 }

    /// Records the number of connections that was worth it.
    mutating func setWorthwhile(_ count: Int, of origin: Origin, at now: Duration) {
        update(origin, at: now) { ($0.worthwhile, $0.lastUse) = (count, now) }
    }

    /// Records that the host accepts no more connections than these.
    mutating func setCeiling(_ count: Int, of origin: Origin, at now: Duration) {
        update(origin, at: now) { ($0.ceiling, $0.lastUse) = ((max(1, count), now), now) }
    }

    /// Records that the host sends the whole body in response to a range.
    mutating func setIgnoresRanges(_ origin: Origin, at now: Duration) {
        update(origin, at: now) { ($0.ignoresRanges, $0.lastUse) = (true, now) }
    }

    /// Records that the host sends different validators for the same object.
    mutating func setInconsistentValidators(_ origin: Origin, at now: Duration) {
        update(origin, at: now) { ($0.hasInconsistentValidators, $0.lastUse) = (true, now) }
    }

    /// Records that the host has refused a further connection, after which none is requested for some time.
    ///
    /// - Parameter retryAfter: The time that the host asks to wait.
    mutating func refused(_ origin: Origin, retryAfter: Duration?, at now: Duration) {
        update(origin, at: now) { host in
            host.lastUse = now
            guard let retryAfter else {
                let delay = Self.firstCoolDown * (1 << min(host.refusalCount, 5))
                host.refusalCount += 1
                host.coolDownEnd = max(host.coolDownEnd, now + min(delay, Self.longestCoolDown))
                return
            }
            host.coolDownEnd = max(host.coolDownEnd, now + retryAfter)
        }
    }

    /// Records that the host has accepted a further connection.
    mutating func accepted(_ origin: Origin, at now: Duration) {
        update(origin, at: now) { ($0.refusalCount, $0.lastUse) = (0, now) }
    }
}
