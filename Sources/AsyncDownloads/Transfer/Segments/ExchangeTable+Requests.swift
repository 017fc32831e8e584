/// The choice of the bytes that further exchanges request.
extension ExchangeTable {
    /// The limits of further requests.
    struct RequestTerms: Sendable, Hashable {
        /// The maximum number of requests.
        var count: Int
        /// The fewest missing bytes that a division leaves to each exchange.
        var minimumLength: Int64 = 1 << 20
        /// The minimum remaining time of an exchange that is divided; nil to divide by length only.
        ///
        /// Setting up another connection has to be worth its time.
        var minimumTime: Duration?
        /// The most bytes of one request, for an engine that needs bounded requests.
        var window: Int64?
    }

    /// The number of received ranges from which nothing is divided any more, since a mark holds a limited number of
    /// ranges.
    static let maximumRangeCount = 48

    /// Returns the ranges to request, at most as many as wanted.
    ///
    /// Missing bytes without an exchange come first, then those behind a long received range, and then parts of the
    /// segments that would take longest. Each range extends to the end of what it divides, and not to the next range:
    /// whichever requests are accepted, no byte between them is without an exchange.
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
