/// What an origin has shown about several connections of one file.
struct OriginConnections: Sendable {
    /// The most connections with one origin, over all transfers.
    static let maximumCount = HostPool.maximumExchangeCount
    /// After how long one more connection than the ceiling is tried.
    private static let ceilingRecovery = Duration.seconds(600)
    /// For how long an origin counts as one that ignores ranges, which may be true for some of its resources only.
    private static let ignoredRangesTime = Duration.seconds(600)
    private static let reservationTime = Duration.seconds(60)
    private static let firstCoolDown = Duration.seconds(30)
    private static let longestCoolDown = Duration.seconds(600)

    private var ceiling: (count: Int, since: Duration)?
    /// The number of connections that was worth it in an earlier transfer; 1 if nothing is known.
    private(set) var worthwhileCount = 1
    /// The end of the time for which the origin is assumed to send the whole body in response to a range.
    private var ignoredRangesEnd = Duration.zero
    /// The most connections for some time, including one that is left to transfers which begin in that time.
    private var reservation: (count: Int, end: Duration)?
    /// The end of the time without requests for further connections.
    private var coolDownEnd = Duration.zero
    /// The number of refusals since a connection was accepted.
    private var refusalCount = 0

    /// Whether nothing was found out that differs from what is assumed.
    var isEmpty: Bool {
        ceiling == nil && reservation == nil && worthwhileCount == 1 && refusalCount == 0
            && max(ignoredRangesEnd, coolDownEnd) == .zero
    }

    /// Returns the most connections of all transfers.
    func limit(at now: Duration) -> Int {
        let reserved = reservation.flatMap { now < $0.end ? $0.count : nil } ?? Self.maximumCount
        guard let ceiling else { return reserved }
        let recovered = Int((now - ceiling.since) / Self.ceilingRecovery)
        return min(reserved, ceiling.count + recovered)
    }

    /// Returns whether the number of connections may grow now.
    func mayGrow(at now: Duration) -> Bool { now >= max(coolDownEnd, ignoredRangesEnd) }

    /// Returns whether one connection is left to transfers that begin.
    func isReserved(at now: Duration) -> Bool { reservation.map { now < $0.end } ?? false }
}

// MARK: - What an origin has shown

extension OriginConnections {
    /// Records that an origin which has `count` connections has refused the only one of a further transfer.
    ///
    /// This says less about the origin than the refusal of an extra connection, because it may have another cause.
    /// The limit therefore applies for a minute only, and isn't reduced again in that time.
    mutating func reserve(_ count: Int, at now: Duration) {
        guard !isReserved(at: now) else { return }
        reservation = (count, now + Self.reservationTime)
    }

    /// Records what a transfer has found out.
    mutating func record(_ observation: HostObservation, at now: Duration) {
        if let ceiling = observation.ceiling { self.ceiling = (max(1, ceiling), now) }
        if let count = observation.worthwhileCount { worthwhileCount = count }
        if observation.ignoresRanges { ignoredRangesEnd = now + Self.ignoredRangesTime }
        if observation.isRefused {
            refused(retryAfter: observation.retryAfter, at: now)
        } else if observation.hasAccepted {
            refusalCount = 0
        }
    }

    /// Records that the origin has refused a further connection, after which none is requested for some time.
    ///
    /// The time doubles until a connection is accepted, also if the origin asks for a shorter one: its `Retry-After`
    /// stops the other files as well.
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
