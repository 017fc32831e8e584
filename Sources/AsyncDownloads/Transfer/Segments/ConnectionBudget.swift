/// What the downloader knows when a transfer decides about the number of its connections.
struct ConnectionBudget: Sendable, Hashable {
    /// The number of bytes that all transfers of the downloader have received.
    var receivedCount: Int64 = 0
    /// The most connections that the host, the other transfers, and the memory permit at present.
    var bound = HostPool.maximumExchangeCount
    /// The number of connections that was worth it in an earlier transfer from the host; 1 if nothing is known.
    var worthwhile = 1
    /// Whether no other transfer of the downloader tries a step.
    var mayTry = true
    /// Whether something other than the network limits the rate: a bandwidth limit, or the disk.
    var isThrottled = false
    /// Whether another transfer has started, has ended, or has changed its number of connections since the last time.
    var isDisturbed = false
}

/// What a transfer reports about its connections when it asks for a ``ConnectionBudget``.
struct ConnectionReport: Sendable, Hashable {
    /// The origin from which the file is fetched, after redirects.
    var origin: Origin
    /// The number of connections that the transfer uses or is about to open.
    var number: Int
    /// Whether the caller has chosen the number.
    var isFixed: Bool
    /// Whether a step to more connections is being judged.
    var isTrying: Bool
}

/// What a transfer has found out about its host, for later transfers.
struct HostLesson: Sendable, Hashable {
    /// The most connections that the host accepts; nil if it has refused none.
    var ceiling: Int?
    /// The number of connections that was worth it; nil if no step was judged.
    var worthwhile: Int?
    /// Whether the host sends the whole body in response to a range.
    var ignoresRanges = false
    /// The refusals of further connections, each with the time that the host asked to wait.
    var refusals: [Duration?] = []
    /// Whether the host has accepted a further connection after the last refusal.
    var hasAccepted = false
}
