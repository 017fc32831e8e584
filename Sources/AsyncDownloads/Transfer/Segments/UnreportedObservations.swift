/// A transfer's unreported observations about its host's handling of several connections.
struct UnreportedObservations: Sendable {
    /// The observations since the last call of ``takeObservation(of:)``.
    private var observation = HostObservation()
    /// The effective number of connections in the last observation that contained one.
    private var reportedNumber: Int?

    /// Records that the host sends the whole body in response to a range.
    mutating func foundNoRanges() {
        observation.ignoresRanges = true
    }

    /// Records that the host has accepted an additional connection.
    mutating func accepted() {
        observation.hasAccepted = true
    }

    /// Records that the host has refused an additional connection.
    mutating func refused(retryAfter: Duration?) {
        (observation.isRefused, observation.retryAfter) = (true, retryAfter)
    }

    /// Records the maximum number of the transfer's connections that the host accepts.
    mutating func foundCeiling(_ ceiling: Int) {
        observation.ceiling = ceiling
    }

    /// Records the number of connections that increased the rate enough.
    ///
    /// - Parameter hasCollapsed: Whether the rate with an accepted number of connections has fallen since.
    mutating func foundEffective(_ number: Int, hasCollapsed: Bool) {
        guard number != reportedNumber else { return }
        (observation.effectiveCount, observation.hasCollapsed) = (number, hasCollapsed)
        reportedNumber = number
    }

    /// Returns the observations since the last call; nil for none.
    mutating func takeObservation(of origin: Origin) -> (origin: Origin, observation: HostObservation)? {
        guard observation != HostObservation() else { return nil }
        defer { observation = HostObservation() }
        return (origin, observation)
    }
}
