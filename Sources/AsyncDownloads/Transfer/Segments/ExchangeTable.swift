/// The exchanges of a transfer that have not ended, and the division of the missing bytes among them.
///
/// An exchange is *requested* until its head is accepted. It then has a segment until every byte of the segment is
/// written or the exchange ends. A canceled exchange has no segment, but stays in the table until its end. An exchange
/// that only compares never has a segment. A transfer over one connection has at most one exchange.
struct ExchangeTable: Sendable {
    private var exchanges = SerialTable<ExchangeID, ExchangeProgress>()
    private(set) var plan = SegmentPlan()
    /// The mean time from a request until the head of its response, weighted toward recent requests; zero before the
    /// first head.
    private(set) var setup = Duration.zero
    /// The longest time from a request until the head of its response.
    private(set) var longestHeadTime = Duration.zero
    /// The maximum time until a head that still counts as connection setup.
    ///
    /// The server may need minutes to prepare the first response, but not the following ones.
    private static let longestSetup = Duration.seconds(10)

    /// Whether every exchange has ended.
    var isEmpty: Bool { exchanges.isEmpty }

    /// The number of exchanges that have not ended; each has a connection.
    var count: Int { exchanges.count }

    /// The exchanges in the order in which they were started.
    var all: some Sequence<(id: ExchangeID, exchange: ExchangeProgress)> {
        exchanges.elements.lazy.map { (id: $0.id, exchange: $0.element) }
    }

    /// Returns whether the exchange has not ended.
    func contains(_ id: ExchangeID) -> Bool { exchanges.contains(id) }

    /// The exchange; nil after its end.
    subscript(id: ExchangeID) -> ExchangeProgress? { exchanges[id] }

    /// Whether an exchange has no accepted head and was not canceled.
    var hasRequests: Bool { all.contains(where: \.exchange.isRequested) }

    /// The exchanges without an accepted head that were not canceled, in the order in which they were started.
    var requestIDs: [ExchangeID] { all.filter(\.exchange.isRequested).map(\.id) }

    /// The segments in ascending order.
    var segments: [Segment] { plan.segments }

    /// Returns the segment of an exchange; nil without an accepted head, and after its end.
    func segment(of id: ExchangeID) -> Segment? { plan[id] }

    /// Returns the received bytes together with the bytes that are being written.
    func withWrites(_ received: IntervalSet) -> IntervalSet {
        var known = received
        for write in all.lazy.flatMap(\.exchange.writes) { known.insert(write) }
        return known
    }

    /// Returns whether an exchange has a segment whose bytes are all written.
    func isExhausted(_ id: ExchangeID, _ received: IntervalSet) -> Bool {
        plan[id].map { isExhausted($0, received) } ?? false
    }

    private func isExhausted(_ segment: Segment, _ received: IntervalSet) -> Bool {
        segment.isClaimed(received) && exchanges[segment.exchange]?.writes.isEmpty ?? true
    }

    /// Returns the exchanges that have nothing left to write, with the number of bytes that their responses still
    /// contain.
    func exhausted(_ received: IntervalSet) -> some Collection<(id: ExchangeID, surplus: Int64?)> {
        segments.lazy.filter { isExhausted($0, received) }.map { segment in
            (id: segment.exchange, surplus: segment.responseEnd.map { $0 - segment.claimed })
        }
    }
}

// MARK: - Exchanges

extension ExchangeTable {
    /// Adds an exchange whose request is being sent.
    mutating func insert(_ exchange: ExchangeProgress, id: ExchangeID) {
        exchanges.insert(exchange, id: id)
    }

    /// Changes the exchange and returns the result; nil after its end.
    mutating func update<Value>(_ id: ExchangeID, _ body: (inout ExchangeProgress) -> Value) -> Value? {
        exchanges.update(id, body)
    }

    /// Changes every exchange.
    mutating func updateAll(_ body: (ExchangeID, inout ExchangeProgress) -> Void) {
        exchanges.updateAll(body)
    }

    /// Cancels an exchange.
    ///
    /// The exchange before it receives its bytes if possible. Its writes in progress still count.
    mutating func cancel(_ id: ExchangeID, at now: Duration) {
        plan.remove(id)
        exchanges.update(id) { $0.cancel(at: now) }
    }

    /// Removes all segments, because no exchange is useful anymore.
    mutating func removeSegments() {
        plan.removeAll()
    }

    /// Removes an exchange that has ended, after its writes have completed.
    mutating func remove(_ id: ExchangeID) {
        plan.remove(id)
        let writes = exchanges.remove(id)?.writes ?? []
        precondition(writes.isEmpty, "exchange \(id) has ended before its writes")
    }

    /// Removes the exchanges whose end was reported before the store was ready for their body.
    mutating func removeEnded() {
        exchanges.removeAll { $1.hasEnded }
    }
}

// MARK: - Bytes

extension ExchangeTable {
    /// Assigns the bytes from `start` on to an exchange whose head was accepted; see ``SegmentPlan``.
    ///
    /// - Parameters:
    ///   - responseEnd: One past the last byte that the response contains; nil if the length is unknown.
    ///   - length: The length of the object.
    ///   - isMeasured: Whether the time until the head was caused by the server, and not by a network interruption.
    mutating func assign(
        from start: Int64, responseEnd: Int64?, length: Int64?, to id: ExchangeID, received: IntervalSet,
        isMeasured: Bool = true, at now: Duration
    ) -> SegmentPlan.Acceptance {
        if isMeasured, let sentAt = exchanges[id]?.sentAt {
            recordHeadTime(now - sentAt, isFirst: segments.isEmpty)
        }
        return plan.accept(
            id, from: start, responseEnd: responseEnd, length: length, known: withWrites(received), at: now)
    }

    private mutating func recordHeadTime(_ time: Duration, isFirst: Bool) {
        longestHeadTime = max(longestHeadTime, time)
        if isFirst, time > Self.longestSetup { return }
        let time = min(time, Self.longestSetup)
        setup = setup == .zero ? time : (setup + time) / 2
    }

    /// Returns which of the bytes at `range` the exchange writes, in ascending order, and records the writes.
    mutating func claim(
        _ range: Range<Int64>, by id: ExchangeID, received: IntervalSet, at now: Duration
    ) -> [Range<Int64>] {
        // Writes of exchanges that have a segment are outside this segment; only writes of exchanges without one can
        // overlap. Each segment has an exchange, so there are such exchanges only if the numbers differ.
        let hasOtherWrites =
            count > segments.count && all.contains { !$0.exchange.writes.isEmpty && plan[$0.id] == nil }
        let known = hasOtherWrites ? withWrites(received) : received
        let parts = plan.claim(range, by: id, received: received, known: known, setup: setup, at: now)
        _ = exchanges.update(id) { $0.beginWrites(parts) }
        return parts
    }
}
