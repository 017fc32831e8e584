/// The downloader's input to a transfer's decision about the number of its connections.
struct ConnectionBudget: Sendable, Hashable {
    /// The number of bytes that all transfers of the downloader have received.
    var receivedCount: Int64 = 0
    /// The maximum number of connections that the host, the other transfers, and the memory currently permit.
    var bound = HostPool.maximumExchangeCount
    /// The number of connections that increased the rate enough in an earlier transfer from the host; 1 if unknown.
    var worthwhileCount = 1
    /// Whether it is the transfer's turn to try more connections; one transfer tries at a time.
    var mayTry = true
    /// Whether another file from the same origin has several connections.
    var isShared = false
    /// Whether something other than the network limits the rate: a bandwidth limit, or the disk.
    var isThrottled = false
    /// The latest change among the other transfers since the last sample; nil for none.
    var disturbance: Disturbance?
}
