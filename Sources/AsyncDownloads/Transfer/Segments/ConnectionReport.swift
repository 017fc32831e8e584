/// A transfer's report about its connections, with which it requests a ``ConnectionBudget``.
struct ConnectionReport: Sendable, Hashable {
    /// The origin from which the file is fetched, after redirects.
    var origin: Origin
    /// The number of connections that the transfer uses or is about to open.
    var number: Int
    /// The largest number of the transfer's connections that the host has accepted at the same time.
    var acceptedCount: Int
    /// Whether the caller has chosen the number.
    var isFixed: Bool
    /// Whether the transfer is trying more connections.
    var isTrying = false
    /// Whether bytes have arrived within the last second.
    var isFlowing = true
}
