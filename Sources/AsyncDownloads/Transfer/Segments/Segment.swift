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
