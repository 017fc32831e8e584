extension ConnectionController {
    /// The measurements since the last sample.
    struct Sample: Sendable {
        /// The number of bytes that this transfer has received.
        var byteCount: Int64
        /// The number of bytes that the other transfers of the downloader have received.
        var otherByteCount: Int64 = 0
        /// The number of this transfer's connections that have a segment.
        var segmentCount: Int
        /// The number of this transfer's bytes that no connection has received.
        var remainingCount: Int64
        /// The time that a connection takes to deliver its first byte.
        var setup: Duration
        /// The most connections that the host, the other transfers, and the memory permit at present.
        var bound: Int
        /// Whether something other than the network limits the rate: a bandwidth limit, or the disk.
        var isThrottled = false
        /// Whether it is the turn of this transfer to try a step.
        var mayTry = true
        /// Whether further requests can be sent at present; the URL may have expired.
        var mayRequest = true
    }
}
