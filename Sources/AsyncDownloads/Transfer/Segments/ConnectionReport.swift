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

/// The downloader's input to a transfer's decision about the number of its connections.
struct ConnectionBudget: Sendable, Hashable {
    /// The number of bytes that all transfers of the downloader have received.
    var receivedCount: Int64 = 0
    /// The maximum number of connections that the host, the other transfers, and the memory currently permit.
    var bound = HostPool.maximumExchangeCount
    /// The number of connections that increased the rate enough in an earlier transfer from the host; 1 if unknown.
    var effectiveCount = 1
    /// Whether it is the transfer's turn to try more connections; one transfer tries at a time.
    var mayTry = true
    /// Whether another file from the same origin has several connections.
    var isShared = false
    /// Whether something other than the network limits the rate: a bandwidth limit, or the disk.
    var isThrottled = false
    /// The latest change among the other transfers since the last sample; nil for none.
    var disturbance: Disturbance?
}

/// A change among the other transfers of a downloader, after which rates are not comparable with earlier ones.
enum Disturbance: Sendable, Hashable {
    /// Another large file has changed its number of connections, or has begun or stopped measuring its rate.
    case otherNumber
    /// A transfer has started or ended.
    case otherTransfer
    /// A large file from the same origin has ended, so the others can use its share of the rate.
    case departure
}

/// A transfer's observations about its host's handling of several connections, for later transfers.
struct HostObservation: Sendable, Hashable {
    /// The maximum number of the transfer's connections that the host accepts; nil if unknown.
    var ceiling: Int?
    /// The number of connections that increased the rate enough; nil if no step was judged.
    var effectiveCount: Int?
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
