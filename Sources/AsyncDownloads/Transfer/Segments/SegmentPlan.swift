/// The division of a file's missing bytes among the exchanges of a transfer.
///
/// An exchange is *requested* until its head is accepted. Then it has a segment, until every byte of it is written or
/// the exchange ends; a canceled exchange is *closing* until its end. What is received is not part of the plan but
/// passed in.
///
/// - Segments don't overlap. A byte is written inside the segment of its exchange only, and only while it is missing
///   (rule 53).
/// - A segment is shortened when the head of its successor is accepted, and not before. So a refused request leaves its
///   bytes with the exchange that has them.
/// - When an exchange ends early, the exchange before it continues with its bytes if it receives up to there and its
///   response contains them. Otherwise the bytes have no exchange until the next request.
struct SegmentPlan: Sendable, Hashable {
    /// The length of the object; nil while it is unknown.
    private(set) var length: Int64?
    /// The segments in ascending order.
    private(set) var segments: [Segment] = []
    /// The requests without an accepted head.
    private(set) var requests: [ExchangeID: Request] = [:]
    /// The canceled exchanges, with their writes in progress.
    private(set) var closing: [ExchangeID: [Range<Int64>]] = [:]
    /// The mean time from a request until the head of its response, in which later requests count more; zero without
    /// one.
    private(set) var setup = Duration.zero
    /// The longest time from a request until the head of its response.
    private(set) var longestHeadTime = Duration.zero
    /// The longest time until a head that counts as that of setting a connection up.
    ///
    /// The first response may take minutes to prepare, which says nothing about the time of further requests.
    private static let longestSetup = Duration.seconds(10)

    /// A request without an accepted head.
    struct Request: Sendable, Hashable {
        /// The requested bytes.
        let range: Range<Int64>
        /// The time when the request was sent, or when the engine has got a network connection for it.
        fileprivate(set) var sentAt: Duration
    }

    /// The most bytes that an exchange receives a second time in order to reach missing bytes behind them.
    ///
    /// At a high rate it is what arrives while another connection would be set up.
    func readThrough(_ rate: Double?) -> Int64 {
        max(1 << 20, Int64((rate ?? 0) * (setup / .seconds(1))))
    }

    /// The segment of an exchange; nil without an accepted head, and after its end.
    subscript(exchange: ExchangeID) -> Segment? { segments.first { $0.exchange == exchange } }

    /// The number of exchanges that have not ended; each has a connection.
    var exchangeCount: Int { segments.count + requests.count + closing.count }

    /// Returns the received bytes together with those that are being written.
    func withWrites(_ received: IntervalSet) -> IntervalSet {
        var all = received
        for write in closing.values.joined() { all.insert(write) }
        for write in segments.lazy.flatMap(\.writes) { all.insert(write) }
        return all
    }

    /// Returns the exchanges that have nothing left to write, with the number of bytes that their responses still
    /// contain.
    func exhausted(_ received: IntervalSet) -> some Collection<(exchange: ExchangeID, surplus: Int64?)> {
        segments.lazy.filter { $0.isExhausted(received) }.map { segment in
            (exchange: segment.exchange, surplus: segment.responseEnd.map { $0 - segment.claimed })
        }
    }
}

// MARK: - Heads

extension SegmentPlan {
    /// The changes that follow from an accepted head.
    enum Acceptance: Sendable, Hashable {
        /// The exchange has a segment; the named exchange, if any, was shortened.
        case segment(shortened: ExchangeID?)
        /// Another exchange has passed the start of the response, which is of no use.
        case late
    }

    /// Records that a request for these bytes was sent.
    mutating func request(_ range: Range<Int64>, by exchange: ExchangeID, at now: Duration) {
        precondition(requests[exchange] == nil && self[exchange] == nil, "exchange \(exchange) is in the plan already")
        requests[exchange] = Request(range: range, sentAt: now)
    }

    /// Records that the engine sends the request now, because it has got a network connection.
    mutating func connected(_ exchange: ExchangeID, at now: Duration) {
        requests[exchange]?.sentAt = now
    }

    /// Assigns the bytes from `start` on to an exchange whose head was accepted.
    ///
    /// The bytes are taken from the segment that contains `start`; at most that segment changes.
    ///
    /// - Parameters:
    ///   - responseEnd: One past the last byte that the response contains; nil if the length is unknown.
    ///   - length: The length of the object.
    ///   - isMeasured: Whether the time until the head was that of the server, and not of an interrupted network.
    mutating func accept(
        _ exchange: ExchangeID, from start: Int64, responseEnd: Int64?, length: Int64?, received: IntervalSet,
        isMeasured: Bool = true, at now: Duration
    ) -> Acceptance {
        precondition(self[exchange] == nil, "exchange \(exchange) is accepted twice")
        precondition(length != nil || segments.isEmpty, "several exchanges without a length")
        let request = requests.removeValue(forKey: exchange)
        if let request, isMeasured { recordHeadTime(now - request.sentAt, isFirst: segments.isEmpty) }
        self.length = length
        let next = segments.firstIndex { $0.start > start } ?? segments.count
        var limit = next < segments.count ? segments[next].start : length
        if let responseEnd { limit = min(responseEnd, limit ?? responseEnd) }
        guard withWrites(received).range(containing: start) == nil else { return late(exchange) }
        var shortened: ExchangeID?
        if next > 0, segments[next - 1].openRange.upperBound > start {
            guard start >= segments[next - 1].claimed else { return late(exchange) }
            segments[next - 1].shorten(to: start)
            shortened = segments[next - 1].exchange
        }
        let segment = Segment(exchange, start: start, limit: limit, responseEnd: responseEnd ?? length, at: now)
        segments.insert(segment, at: next)
        return .segment(shortened: shortened)
    }

    private mutating func recordHeadTime(_ time: Duration, isFirst: Bool) {
        longestHeadTime = max(longestHeadTime, time)
        if isFirst, time > Self.longestSetup { return }
        let time = min(time, Self.longestSetup)
        setup = setup == .zero ? time : (setup + time) / 2
    }

    private mutating func late(_ exchange: ExchangeID) -> Acceptance {
        closing[exchange] = []
        return .late
    }
}

// MARK: - Bytes

extension SegmentPlan {
    /// Returns which parts of the bytes at `range` are to be written, in ascending order.
    ///
    /// Bytes beyond the limit of the segment, received bytes, and bytes of an exchange without a segment are left out.
    mutating func bytesArrived(
        _ range: Range<Int64>, by exchange: ExchangeID, received: IntervalSet, at now: Duration
    ) -> [Range<Int64>] {
        guard let index = segments.firstIndex(where: { $0.exchange == exchange }) else { return [] }
        let wanted = range.clamped(to: segments[index].openRange)
        if range.upperBound > segments[index].openRange.upperBound { segments[index].passLimit() }
        guard !wanted.isEmpty else { return [] }
        precondition(wanted.lowerBound == segments[index].claimed, "bytes out of order")
        // The writes of the other segments are outside this one.
        let known = closing.values.allSatisfy(\.isEmpty) ? received : withWrites(received)
        let parts = known.gaps(in: wanted)
        segments[index].claim(to: wanted.upperBound, writing: parts, at: now)
        skipReceived(index, received, at: now)
        return parts
    }

    /// Ends a segment before a received range that is longer than what is worth receiving again.
    ///
    /// Another request fetches what is behind it, at the latest when this exchange has ended.
    private mutating func skipReceived(_ index: Int, _ received: IntervalSet, at now: Duration) {
        let segment = segments[index]
        guard let known = received.range(containing: segment.claimed), known.upperBound < segment.openRange.upperBound,
            known.upperBound - segment.claimed > readThrough(segment.rate(at: now))
        else { return }
        segments[index].shorten(to: segment.claimed)
    }

    /// Records that a part was written, or could not be.
    mutating func wrote(_ range: Range<Int64>, by exchange: ExchangeID) {
        if let index = segments.firstIndex(where: { $0.exchange == exchange }) {
            segments[index].finishWrite(range)
        } else {
            closing[exchange]?.removeAll { $0 == range }
        }
    }
}

// MARK: - Ends

extension SegmentPlan {
    /// Removes everything except what was measured, because no exchange is left.
    mutating func reset() {
        let (setup, longestHeadTime) = (setup, longestHeadTime)
        self = Self()
        (self.setup, self.longestHeadTime) = (setup, longestHeadTime)
    }

    /// Records that a write of an exchange has failed, after which none of its writes counts.
    mutating func failWrites(of exchange: ExchangeID) {
        if let index = segments.firstIndex(where: { $0.exchange == exchange }) {
            segments[index].failWrites()
        } else if closing[exchange] != nil {
            closing[exchange] = []
        }
    }

    /// Takes the segment or the request of an exchange away, because the exchange is being canceled.
    ///
    /// Its writes in progress still count.
    mutating func cancel(_ exchange: ExchangeID) {
        if requests.removeValue(forKey: exchange) != nil {
            closing[exchange] = []
        } else if let index = segments.firstIndex(where: { $0.exchange == exchange }) {
            let segment = segments.remove(at: index)
            closing[exchange] = segment.writes
            handBack(segment, before: index)
        }
    }

    /// Records that an exchange has ended, after its writes.
    mutating func ended(_ exchange: ExchangeID) {
        cancel(exchange)
        let writes = closing.removeValue(forKey: exchange) ?? []
        precondition(writes.isEmpty, "exchange \(exchange) has ended before its writes")
    }

    /// Cancels all exchanges.
    mutating func cancelAll() {
        for segment in segments { closing[segment.exchange] = segment.writes }
        for exchange in requests.keys { closing[exchange] = [] }
        (segments, requests) = ([], [:])
    }

    /// Extends the segment before the one that was at `index` up to the segment behind it, as far as its response
    /// contains that.
    ///
    /// What is missing there is the rest of the ended segment, and what was taken from the earlier one although the
    /// response was shorter than requested (rule 19).
    private mutating func handBack(_ segment: Segment, before index: Int) {
        guard index > 0, let limit = segment.limit, !segments[index - 1].hasPassedLimit else { return }
        let next = index < segments.count ? segments[index].start : length ?? limit
        guard !segment.openRange.isEmpty || limit < next else { return }
        let end = min(next, segments[index - 1].responseEnd ?? next)
        if end > segments[index - 1].openRange.upperBound { segments[index - 1].extend(to: end) }
    }
}
