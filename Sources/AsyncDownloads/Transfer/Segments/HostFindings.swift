/// What a transfer finds out about the several connections of the host that it receives from.
struct HostFindings: Sendable {
    /// The origin of the body that flows, or of the last one; nil before the first one.
    private(set) var origin: Origin?
    /// What was found out since the last call of ``takeObservation()``.
    private var observation = HostObservation()
    /// The number of connections that was worth it when an observation last contained one.
    private var reportedNumber: Int?

    /// Records the origin of a body, and returns whether it differs from that of an earlier body.
    ///
    /// A redirect may lead to another origin, of which nothing is known.
    mutating func bodyStarted(from origin: Origin?) -> Bool {
        defer { self.origin = origin }
        return self.origin != nil && self.origin != origin
    }

    /// Forgets what was found out, except the origin of the body.
    mutating func forget() {
        (observation, reportedNumber) = (HostObservation(), nil)
    }

    /// Records that the host sends the whole body in response to a range.
    mutating func foundNoRanges() {
        observation.ignoresRanges = true
    }

    /// Records that the host has accepted a further connection.
    mutating func accepted() {
        observation.hasAccepted = true
    }

    /// Records that the host has refused a further connection.
    mutating func refused(retryAfter: Duration?) {
        (observation.isRefused, observation.retryAfter) = (true, retryAfter)
    }

    /// Records the most connections of the transfer that the host accepts.
    mutating func foundCeiling(_ ceiling: Int) {
        observation.ceiling = ceiling
    }

    /// Records the number of connections that was worth it.
    ///
    /// - Parameter hasCollapsed: Whether that number has become worth less after it was accepted.
    mutating func foundWorthwhile(_ number: Int, hasCollapsed: Bool) {
        guard number != reportedNumber else { return }
        (observation.worthwhileCount, observation.hasCollapsed) = (number, hasCollapsed)
        reportedNumber = number
    }

    /// Returns what was found out since the last call; nil for nothing new.
    mutating func takeObservation() -> (origin: Origin, observation: HostObservation)? {
        guard let origin, observation != HostObservation() else { return nil }
        defer { observation = HostObservation() }
        return (origin, observation)
    }
}
