/// A downloader's record of what hosts have shown about several connections of one file.
struct HostConnections: Sendable {
    /// The maximum number of recorded hosts.
    static let capacity = 256
    /// The most connections with one host, over all transfers.
    static let maximumCount = HostPool.maximumExchangeCount
    /// After how long one more connection than the ceiling is tried.
    private static let ceilingRecovery = Duration.seconds(600)
    /// For how long an origin counts as one that ignores ranges, which may be true for some of its resources only.
    private static let ignoredRangesTime = Duration.seconds(600)
    private static let reservationTime = Duration.seconds(60)
    private static let firstCoolDown = Duration.seconds(30)
    private static let longestCoolDown = Duration.seconds(600)

    private struct Host {
        var ceiling: (count: Int, since: Duration)?
        var worthwhileCount = 1
        /// The end of the time for which the host is assumed to send the whole body in response to a range.
        var ignoredRangesEnd = Duration.zero
        /// The most connections for some time, including one that is left to transfers which begin in that time.
        var reservation: (count: Int, end: Duration)?
        var coolDownEnd = Duration.zero
        /// The number of refusals since a connection was accepted.
        var refusalCount = 0
        var lastUse: Duration

        /// Records that the host has refused a further connection, after which none is requested for some time.
        ///
        /// The time doubles until a connection is accepted, also if the host asks for a shorter one: its `Retry-After`
        /// stops the other files as well.
        ///
        /// - Parameter retryAfter: The time that the host asks to wait.
        mutating func refused(retryAfter: Duration?, at now: Duration) {
            let repeatCount = retryAfter == nil ? refusalCount + 1 : refusalCount
            let own = repeatCount == 0 ? .zero : HostConnections.firstCoolDown * (1 << min(repeatCount - 1, 5))
            refusalCount += 1
            let delay = min(max(own, retryAfter ?? .zero), HostConnections.longestCoolDown)
            coolDownEnd = max(coolDownEnd, now + delay)
        }

        /// The most connections of all transfers.
        func limit(at now: Duration) -> Int {
            let reserved = reservation.flatMap { now < $0.end ? $0.count : nil } ?? HostConnections.maximumCount
            guard let ceiling else { return reserved }
            let recovered = Int((now - ceiling.since) / HostConnections.ceilingRecovery)
            return min(reserved, ceiling.count + recovered)
        }
    }

    private var hosts: [Origin: Host] = [:]

    private mutating func update(_ origin: Origin, at now: Duration, _ body: (inout Host) -> Void) {
        if hosts[origin] == nil, hosts.count >= Self.capacity { forgetOldest() }
        body(&hosts[origin, default: Host(lastUse: now)])
    }

    private mutating func forgetOldest() {
        guard let oldest = hosts.min(by: { $0.value.lastUse < $1.value.lastUse }) else { return }
        hosts[oldest.key] = nil
    }
}

// MARK: - Queries

extension HostConnections {
    /// Returns the most connections of all transfers that the host permits.
    func limit(of origin: Origin, at now: Duration) -> Int { hosts[origin]?.limit(at: now) ?? Self.maximumCount }

    /// Returns whether the number of connections with the host may grow now.
    func mayRequest(_ origin: Origin, at now: Duration) -> Bool {
        hosts[origin].map { now >= $0.coolDownEnd } ?? true
    }

    /// Returns whether the host sends the whole body in response to a range.
    func ignoresRanges(_ origin: Origin, at now: Duration) -> Bool {
        hosts[origin].map { now < $0.ignoredRangesEnd } ?? false
    }

    /// Returns whether one connection is left to transfers that begin.
    func isReserved(_ origin: Origin, at now: Duration) -> Bool {
        hosts[origin]?.reservation.map { now < $0.end } ?? false
    }

    /// Returns the number of connections that was worth it in an earlier transfer; 1 if nothing is known.
    func worthwhileCount(_ origin: Origin) -> Int { hosts[origin]?.worthwhileCount ?? 1 }
}

// MARK: - What a host has shown

extension HostConnections {
    /// Records that a host which has `count` connections has refused the only one of a further transfer.
    ///
    /// This says less about the host than the refusal of an extra connection, because it may have another cause.
    /// The limit therefore applies for a minute only, and isn't reduced again in that time.
    mutating func reserve(_ origin: Origin, of count: Int, at now: Duration) {
        guard !isReserved(origin, at: now) else { return }
        update(origin, at: now) { host in
            (host.lastUse, host.reservation) = (now, (count, now + Self.reservationTime))
        }
    }

    /// Records what a transfer has found out about its host.
    mutating func record(_ observation: HostObservation, about origin: Origin, at now: Duration) {
        update(origin, at: now) { host in
            host.lastUse = now
            if let ceiling = observation.ceiling { host.ceiling = (max(1, ceiling), now) }
            if let count = observation.worthwhileCount { host.worthwhileCount = count }
            if observation.ignoresRanges { host.ignoredRangesEnd = now + Self.ignoredRangesTime }
            if observation.isRefused {
                host.refused(retryAfter: observation.retryAfter, at: now)
            } else if observation.hasAccepted {
                host.refusalCount = 0
            }
        }
    }
}
