/// What the downloader knows when a transfer decides about the number of its connections.
struct ConnectionBudget: Sendable, Hashable {
    /// The number of bytes that all transfers of the downloader have received.
    var receivedCount: Int64 = 0
    /// The most connections that the host, the other transfers, and the memory permit at present.
    var bound = HostPool.maximumExchangeCount
    /// The number of connections that was worth it in an earlier transfer from the host; 1 if nothing is known.
    var worthwhile = 1
    /// Whether it is the turn of the transfer to try more connections; one transfer tries at a time.
    var mayTry = true
    /// Whether another file from the same origin has several connections.
    var isShared = false
    /// Whether something other than the network limits the rate: a bandwidth limit, or the disk.
    var isThrottled = false
    /// What has changed among the other transfers since the last sample; nil for nothing.
    var disturbance: Disturbance?
    /// Whether the host may be sent requests for further connections.
    var mayRequest = true
}

/// A change of the other transfers of a downloader, after which rates aren't comparable with earlier ones.
enum Disturbance: Sendable, Hashable {
    /// Another large file has changed its number of connections, or has begun or stopped to measure its rate.
    case otherNumber
    /// A transfer has started or ended.
    case otherTransfer
    /// A large file from the same origin has ended, and has left its share of the rate to the others.
    case departure
}

/// What a transfer reports about its connections when it asks for a ``ConnectionBudget``.
struct ConnectionReport: Sendable, Hashable {
    /// The origin from which the file is fetched, after redirects.
    var origin: Origin
    /// The number of connections that the transfer uses or is about to open.
    var number: Int
    /// Whether the caller has chosen the number.
    var isFixed: Bool
    /// Whether the transfer tries more connections.
    var isTrying = false
    /// Whether bytes have arrived within the last second.
    var isFlowing = true
}

/// What a transfer has found out about its host, for later transfers.
struct HostLesson: Sendable, Hashable {
    /// The most connections of the transfer that the host accepts; nil if nothing was found out.
    var ceiling: Int?
    /// The number of connections that was worth it; nil if no step was judged.
    var worthwhile: Int?
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
