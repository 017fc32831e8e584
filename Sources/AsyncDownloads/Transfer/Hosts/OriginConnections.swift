/// The observations about an origin's handling of several connections of one file.
struct OriginConnections: Sendable {
    /// The maximum number of connections with one origin, over all transfers.
    static let maximumCount = HostPool.maximumExchangeCount
    /// The interval at which the ceiling rises by one connection.
    private static let ceilingRecovery = Duration.seconds(600)
    /// The time for which an origin counts as ignoring ranges; this may be true for only some of its resources.
    private static let ignoredRangesTime = Duration.seconds(600)
    private static let reservationTime = Duration.seconds(60)
    private static let firstCoolDown = Duration.seconds(30)
    private static let longestCoolDown = Duration.seconds(600)

    private var ceiling: (count: Int, since: Duration)?
    /// The number of connections that increased the rate enough in an earlier transfer; 1 if unknown.
    private(set) var effectiveCount = 1
    /// The time until which the origin is assumed to send the whole body in response to a range.
    private var ignoredRangesEnd = Duration.zero
    /// A temporary maximum number of connections, including one that is reserved for new transfers.
    private var reservation: (count: Int, end: Duration)?
    /// The time until which no additional connections are requested.
    private var coolDownEnd = Duration.zero
    /// The number of refusals since a connection was last accepted.
    private var refusalCount = 0

    /// Whether all values are still the initial assumptions.
    var isEmpty: Bool {
        ceiling == nil && reservation == nil && effectiveCount == 1 && refusalCount == 0
            && max(ignoredRangesEnd, coolDownEnd) == .zero
    }

    /// Returns the maximum number of connections of all transfers.
    func limit(at now: Duration) -> Int {
        let reserved = reservation.flatMap { now < $0.end ? $0.count : nil } ?? Self.maximumCount
        guard let ceiling else { return reserved }
        let recovered = Int((now - ceiling.since) / Self.ceilingRecovery)
        return min(reserved, ceiling.count + recovered)
    }

    /// Returns whether the number of connections may grow now.
    func mayGrow(at now: Duration) -> Bool { now >= max(coolDownEnd, ignoredRangesEnd) }

    /// Returns whether one connection is reserved for new transfers.
    func isReserved(at now: Duration) -> Bool { reservation.map { now < $0.end } ?? false }
}

// MARK: - Observations

extension OriginConnections {
    /// Records that an origin with `count` connections has refused the only connection of another transfer.
    ///
    /// The refusal may have another cause, so it proves less about the origin than the refusal of an extra connection.
    /// The limit therefore applies for only a minute, and isn't reduced again within that time.
    mutating func reserve(_ count: Int, at now: Duration) {
        guard !isReserved(at: now) else { return }
        reservation = (count, now + Self.reservationTime)
    }

    /// Records a transfer's observation.
    mutating func record(_ observation: HostObservation, at now: Duration) {
        if let ceiling = observation.ceiling { self.ceiling = (max(1, ceiling), now) }
        if let count = observation.effectiveCount { effectiveCount = count }
        if observation.ignoresRanges { ignoredRangesEnd = now + Self.ignoredRangesTime }
        if observation.isRefused {
            refused(retryAfter: observation.retryAfter, at: now)
        } else if observation.hasAccepted {
            refusalCount = 0
        }
    }

    /// Records that the origin has refused an additional connection, after which none is requested for some time.
    ///
    /// The time doubles with each refusal until a connection is accepted, even if the origin asks for a shorter time:
    /// its `Retry-After` also delays the other files.
    ///
    /// - Parameter retryAfter: The time that the origin asks to wait.
    private mutating func refused(retryAfter: Duration?, at now: Duration) {
        let repeatCount = retryAfter == nil ? refusalCount + 1 : refusalCount
        let own = repeatCount == 0 ? .zero : Self.firstCoolDown * (1 << min(repeatCount - 1, 5))
        refusalCount += 1
        let delay = min(max(own, retryAfter ?? .zero), Self.longestCoolDown)
        coolDownEnd = max(coolDownEnd, now + delay)
    }
}
