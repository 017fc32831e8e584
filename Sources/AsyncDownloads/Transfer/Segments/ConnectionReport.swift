/// What a transfer reports about its connections when it asks for a ``ConnectionBudget``.
struct ConnectionReport: Sendable, Hashable {
    /// The origin from which the file is fetched, after redirects.
    var origin: Origin
    /// The number of connections that the transfer uses or is about to open.
    var number: Int
    /// The most connections of the transfer that the host has accepted at the same time.
    var acceptedCount: Int
    /// Whether the caller has chosen the number.
    var isFixed: Bool
    /// Whether the transfer tries more connections.
    var isTrying = false
    /// Whether bytes have arrived within the last second.
    var isFlowing = true
}
