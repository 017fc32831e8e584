/// What a transfer finds out about the several connections of the host that it receives from.
struct HostFindings: Sendable {
    /// What was found out since the last call of ``takeObservation(of:)``.
    private var observation = HostObservation()
    /// The number of connections that was worth it when an observation last contained one.
    private var reportedNumber: Int?

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
    mutating func takeObservation(of origin: Origin) -> (origin: Origin, observation: HostObservation)? {
        guard observation != HostObservation() else { return nil }
        defer { observation = HostObservation() }
        return (origin, observation)
    }
}
