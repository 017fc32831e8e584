/// What the downloader knows when a transfer decides about the number of its connections.
struct ConnectionBudget: Sendable, Hashable {
    /// The number of bytes that all transfers of the downloader have received.
    var receivedCount: Int64 = 0
    /// The most connections that the host, the other transfers, and the memory permit at present.
    var bound = HostPool.maximumExchangeCount
    /// The number of connections that was worth it in an earlier transfer from the host; 1 if nothing is known.
    var worthwhileCount = 1
    /// Whether it is the turn of the transfer to try more connections; one transfer tries at a time.
    var mayTry = true
    /// Whether another file from the same origin has several connections.
    var isShared = false
    /// Whether something other than the network limits the rate: a bandwidth limit, or the disk.
    var isThrottled = false
    /// What has changed among the other transfers since the last sample; nil for nothing.
    var disturbance: Disturbance?
}
