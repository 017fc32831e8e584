/// The counts at the last sample, from which the differences to the next sample are calculated.
struct SampleHistory: Sendable {
    /// The number of bytes that all transfers had received.
    private var receivedCount: Int64 = 0
    /// The number of this transfer's bytes that had not been received.
    private var remainingCount: Int64 = 0
    /// The maximum number of connections that the downloader permitted.
    private(set) var bound = Int.max
    /// Whether another file from the same origin had several connections.
    private(set) var isShared = false
    /// The time of the last sample in which other transfers had received bytes.
    private var lastOtherTime: Duration?
    /// The time without bytes after which the other transfers count as inactive; a server may send a part this rarely.
    private static let otherTime = Duration.milliseconds(2500)

    /// Forgets the values that apply to the present origin.
    ///
    /// The counts remain valid, because they belong to the transfer and the downloader.
    mutating func hostChanged() {
        (bound, isShared) = (.max, false)
    }

    /// Returns the measurements since the last call.
    ///
    /// - Parameters:
    ///   - flow: The times at which bytes have arrived.
    ///   - mayRequest: Whether more requests can be sent to the present address.
    mutating func sample(
        _ exchanges: ExchangeTable, _ budget: ConnectionBudget, _ flow: ByteFlow, remaining: Int64, mayRequest: Bool,
        at now: Duration
    ) -> ConnectionController.Sample {
        (bound, isShared) = (budget.bound, budget.isShared)
        defer { (receivedCount, remainingCount) = (budget.receivedCount, remaining) }
        let count = max(0, remainingCount - remaining)
        let otherCount = max(0, budget.receivedCount - receivedCount - count)
        if otherCount > 0 { lastOtherTime = now }
        return ConnectionController.Sample(
            byteCount: count, otherByteCount: otherCount,
            hasActiveOthers: lastOtherTime.map { now - $0 < Self.otherTime } ?? false,
            segmentCount: exchanges.segments.count, remainingCount: remaining, setup: exchanges.setup,
            parts: flow.parts,
            connectionParts: flow.connectionParts(of: exchanges.segments.lazy.map(\.exchange), at: now),
            bound: budget.bound, isThrottled: budget.isThrottled, mayTry: budget.mayTry,
            mayRequest: mayRequest)
    }
}
