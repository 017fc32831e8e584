/// The ranges of the next requests.
extension ExchangeTable {
    /// The limits on the next requests.
    struct RequestTerms: Sendable, Hashable {
        /// The maximum number of requests.
        var count: Int
        /// The minimum number of missing bytes that a division leaves to each exchange.
        var minimumLength: Int64 = 1 << 20
        /// The minimum remaining time of an exchange that is divided; nil to divide by length only.
        ///
        /// The exchange has to last long enough to justify the setup of another connection.
        var minimumTime: Duration?
        /// The maximum length of one request in bytes, for an engine that needs bounded requests.
        var window: Int64?
    }

    /// The number of received ranges from which nothing is divided anymore, because a checkpoint mark holds a limited
    /// number of ranges.
    static let maximumRangeCount = 48

    /// Returns the ranges to request, at most `terms.count`.
    ///
    /// The order is: missing bytes without an exchange, missing bytes behind a long received range, and parts of the
    /// segments that would take longest. Each range extends to the end of the segment or gap that it divides, and not
    /// only to the start of the next range. Every missing byte therefore has an exchange, whichever requests are
    /// accepted.
    func requestRanges(_ terms: RequestTerms, received: IntervalSet, at now: Duration) -> [Range<Int64>] {
        guard terms.count > 0, var division = plan.division(known: withWrites(received), at: now) else { return [] }
        for range in requestIDs.compactMap({ self[$0]?.range }).sorted(by: { $0.lowerBound < $1.lowerBound }) {
            division.add(range)
        }
        var ranges: [Range<Int64>] = []
        for gap in division.gaps {
            var start = gap.lowerBound
            while start < gap.upperBound, ranges.count < terms.count {
                let range = start..<bounded(gap.upperBound, from: start, terms)
                division.add(range)
                ranges.append(range)
                start = range.upperBound
            }
        }
        while ranges.count < terms.count,
            let next = division.behindReceived({ SegmentPlan.readThrough($0, setup: setup) })
        {
            division.add(next)
            ranges.append(next.lowerBound..<bounded(next.upperBound, from: next.lowerBound, terms))
        }
        let room = min(terms.count - ranges.count, Self.maximumRangeCount - division.rangeCount)
        let cuts = division.cuts(room, terms, setup: setup)
        return ranges + cuts.map { $0.lowerBound..<bounded($0.upperBound, from: $0.lowerBound, terms) }
    }

    private func bounded(_ end: Int64, from start: Int64, _ terms: RequestTerms) -> Int64 {
        guard let window = terms.window, end - start > window else { return end }
        return start + window
    }
}
