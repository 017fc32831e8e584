/// What a transfer has found out about the several connections of its host, for later transfers.
struct HostObservation: Sendable, Hashable {
    /// The most connections of the transfer that the host accepts; nil if nothing was found out.
    var ceiling: Int?
    /// The number of connections that was worth it; nil if no step was judged.
    var worthwhileCount: Int?
    /// Whether that number has become worth less after it was accepted.
    var hasCollapsed = false
    /// Whether the host sends the whole body in response to a range.
    var ignoresRanges = false
    /// Whether the host has refused a further connection.
    var isRefused = false
    /// The time that the host asks to wait after the refusal.
    var retryAfter: Duration?
    /// Whether the host has accepted a further connection.
    var hasAccepted = false
}
