/// The division of a file's missing bytes among the receiving exchanges.
///
/// The received bytes and the bytes that are being written are not part of the plan; they are passed in. Together they
/// are the *known* bytes.
///
/// - Segments don't overlap. A byte is written only inside the segment of its exchange, and only while it is missing
///   (rule 53).
/// - A segment is shortened only when the head of its successor is accepted. A refused request therefore changes
///   nothing: the exchange that has the bytes keeps them.
/// - When an exchange ends early, the exchange before it continues with its bytes if it receives up to that position
///   and its response contains them. Otherwise, the bytes have no exchange until the next request.
struct SegmentPlan: Sendable, Hashable {
    /// The result of an accepted head.
    enum Acceptance: Sendable, Hashable {
        /// The exchange has a segment; the associated exchange, if any, was shortened.
        case segment(shortened: ExchangeID?)
        /// Another exchange has passed the start of the response, so the response is useless.
        case late
    }

    /// The length of the object; nil while it is unknown.
    private(set) var length: Int64?
    /// The segments in ascending order.
    private(set) var segments: [Segment] = []

    /// The segment of an exchange; nil without an accepted head, and after its end.
    subscript(exchange: ExchangeID) -> Segment? { segments.first { $0.exchange == exchange } }

    /// Assigns the bytes from `start` on to an exchange whose head was accepted.
    ///
    /// The bytes are taken from the segment that contains `start`; no other segment changes.
    ///
    /// - Parameters:
    ///   - responseEnd: One past the last byte that the response contains; nil if the length is unknown.
    ///   - length: The length of the object.
    mutating func accept(
        _ exchange: ExchangeID, from start: Int64, responseEnd: Int64?, length: Int64?, known: IntervalSet,
        at now: Duration
    ) -> Acceptance {
        precondition(self[exchange] == nil, "exchange \(exchange) is accepted twice")
        precondition(length != nil || segments.isEmpty, "several exchanges without a length")
        self.length = length
        let next = segments.firstIndex { $0.start > start } ?? segments.count
        var limit = next < segments.count ? segments[next].start : length
        if let responseEnd { limit = min(responseEnd, limit ?? responseEnd) }
        guard known.range(containing: start) == nil else { return .late }
        var shortened: ExchangeID?
        if next > 0, segments[next - 1].openRange.upperBound > start {
            guard start >= segments[next - 1].claimed else { return .late }
            segments[next - 1].shorten(to: start)
            shortened = segments[next - 1].exchange
        }
        let segment = Segment(exchange, start: start, limit: limit, responseEnd: responseEnd ?? length, at: now)
        segments.insert(segment, at: next)
        return .segment(shortened: shortened)
    }

    /// Returns the parts of the bytes at `range` that are to be written, in ascending order.
    ///
    /// Bytes beyond the limit of the segment, known bytes, and bytes of an exchange without a segment are omitted.
    ///
    /// - Parameter setup: The time that a new connection takes.
    mutating func claim(
        _ range: Range<Int64>, by exchange: ExchangeID, received: IntervalSet, known: IntervalSet, setup: Duration,
        at now: Duration
    ) -> [Range<Int64>] {
        guard let index = segments.firstIndex(where: { $0.exchange == exchange }) else { return [] }
        let wanted = range.clamped(to: segments[index].openRange)
        if range.upperBound > segments[index].openRange.upperBound { segments[index].passLimit() }
        guard !wanted.isEmpty else { return [] }
        precondition(wanted.lowerBound == segments[index].claimed, "bytes out of order")
        let parts = known.gaps(in: wanted)
        segments[index].claim(to: wanted.upperBound, at: now)
        skipReceived(index, received, setup: setup, at: now)
        return parts
    }

    /// Ends a segment before a received range that is too long to be received again.
    ///
    /// Another request fetches the bytes behind the range, at the latest when this exchange has ended.
    private mutating func skipReceived(_ index: Int, _ received: IntervalSet, setup: Duration, at now: Duration) {
        let segment = segments[index]
        guard let known = received.range(containing: segment.claimed), known.upperBound < segment.openRange.upperBound,
            known.upperBound - segment.claimed > Self.readThrough(segment.rate(at: now), setup: setup)
        else { return }
        segments[index].shorten(to: segment.claimed)
    }

    /// Returns the maximum number of bytes that an exchange receives again in order to reach missing bytes behind them.
    ///
    /// At a high rate, this is the number of bytes that arrive while another connection would be set up.
    static func readThrough(_ rate: Double?, setup: Duration) -> Int64 {
        max(1 << 20, Int64((rate ?? 0) * (setup / .seconds(1))))
    }

    /// Removes the segment of an exchange, because the exchange has ended or is being canceled.
    ///
    /// The preceding segment is extended up to the following segment, if its response contains those bytes. The missing
    /// bytes there are the rest of the ended segment, and bytes that the preceding segment had lost to it although its
    /// response was shorter than requested (rule 19).
    mutating func remove(_ exchange: ExchangeID) {
        guard let index = segments.firstIndex(where: { $0.exchange == exchange }) else { return }
        let segment = segments.remove(at: index)
        guard index > 0, let limit = segment.limit, !segments[index - 1].hasPassedLimit else { return }
        let next = index < segments.count ? segments[index].start : length ?? limit
        guard !segment.openRange.isEmpty || limit < next else { return }
        let end = min(next, segments[index - 1].responseEnd ?? next)
        if end > segments[index - 1].openRange.upperBound { segments[index - 1].extend(to: end) }
    }

    /// Removes all segments.
    mutating func removeAll() {
        segments = []
    }
}

/// The interval of a file that one exchange fetches.
///
/// A segment may contain received bytes, which are not written again. Its positions are ordered: `start`, `claimed`,
/// `limit`, `responseEnd`, and the length of the object. The bytes before `claimed` are received or being written.
struct Segment: Sendable, Hashable {
    /// The exchange whose body delivers the bytes.
    let exchange: ExchangeID
    /// The position of the first byte.
    let start: Int64
    /// One past the last byte that the response contains; nil while the length of the object is unknown.
    let responseEnd: Int64?
    /// One past the last byte that the exchange may write; nil while the length of the object is unknown.
    private(set) var limit: Int64?
    /// The position of the next byte that arrives.
    private(set) var claimed: Int64
    /// Whether bytes beyond the limit have arrived; they were discarded.
    private(set) var hasPassedLimit = false
    private var rate: DecayingRate

    /// Creates the segment of an exchange whose head was accepted.
    init(_ exchange: ExchangeID, start: Int64, limit: Int64?, responseEnd: Int64?, at now: Duration) {
        self.exchange = exchange
        self.start = start
        self.limit = limit
        self.responseEnd = responseEnd
        claimed = start
        rate = DecayingRate(since: now)
    }

    /// The range in which bytes of the exchange may still arrive.
    var openRange: Range<Int64> { claimed..<(limit ?? .max) }

    /// Returns the rate in bytes per second; nil while the exchange is too new.
    func rate(at now: Duration) -> Double? { rate.value(at: now) }

    /// Returns whether every byte of the segment has arrived.
    func isClaimed(_ received: IntervalSet) -> Bool {
        received.firstMissing(from: claimed) >= openRange.upperBound
    }
}

// MARK: - Changes

extension Segment {
    /// Ends the segment at a position, because another exchange fetches the bytes from there.
    mutating func shorten(to end: Int64) {
        precondition(
            end >= claimed && end <= openRange.upperBound, "a segment shortened to a position outside its open range")
        limit = end
    }

    /// Extends the segment to a position that the response contains, because the following exchange has ended.
    mutating func extend(to end: Int64) {
        precondition(
            end >= openRange.upperBound && end <= responseEnd ?? .max, "a segment extended beyond its response")
        limit = end
    }

    /// Records that bytes beyond the limit have arrived and were ignored.
    mutating func passLimit() {
        hasPassedLimit = true
    }

    /// Counts bytes that have arrived.
    mutating func claim(to end: Int64, at now: Duration) {
        precondition(end >= claimed && end <= openRange.upperBound, "bytes claimed outside the segment")
        rate.add(end - claimed, at: now)
        claimed = end
    }
}
