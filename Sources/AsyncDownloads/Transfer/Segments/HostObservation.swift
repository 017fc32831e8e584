/// A transfer's observations about its host's handling of several connections, for later transfers.
struct HostObservation: Sendable, Hashable {
    /// The maximum number of the transfer's connections that the host accepts; nil if unknown.
    var ceiling: Int?
    /// The number of connections that increased the rate enough; nil if no step was judged.
    var worthwhileCount: Int?
    /// Whether the rate with an accepted number of connections has fallen since.
    var hasCollapsed = false
    /// Whether the host sends the whole body in response to a range.
    var ignoresRanges = false
    /// Whether the host has refused an additional connection.
    var isRefused = false
    /// The time that the host asks to wait after the refusal.
    var retryAfter: Duration?
    /// Whether the host has accepted an additional connection.
    var hasAccepted = false
}
