/// What the downloader knows when a transfer decides about the number of its connections.
struct ConnectionBudget: Sendable, Hashable {
    /// The number of bytes that all transfers of the downloader have received.
    var receivedCount: Int64 = 0
    /// The most connections that the host, the other transfers, and the memory permit at present.
    var bound = HostPool.maximumExchangeCount
    /// The number of connections that was worth it in an earlier transfer from the host; 1 if nothing is known.
    var worthwhile = 1
    /// Whether the transfer may try more connections, because no other one of the downloader does.
    var mayTry = true
    /// Whether something other than the network limits the rate: a bandwidth limit, or the disk.
    var isThrottled = false
    /// Whether a transfer of the downloader has started or ended, or changed its number, since the last sample.
    var isDisturbed = false
    /// Whether a transfer of a large file has ended since the last sample, and has left its connections to the others.
    var isFreed = false
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
}

/// What a transfer has found out about its host, for later transfers.
struct HostLesson: Sendable, Hashable {
    /// The most connections that the host accepts; nil if nothing was found out.
    var ceiling: Int?
    /// The number of connections that was worth it; nil if no step was judged.
    var worthwhile: Int?
    /// Whether the host sends the whole body in response to a range.
    var ignoresRanges = false
    /// Whether the host has refused a further connection.
    var isRefused = false
    /// The time that the host asks to wait after the refusal.
    var retryAfter: Duration?
    /// Whether the host has accepted a further connection.
    var hasAccepted = false
}
