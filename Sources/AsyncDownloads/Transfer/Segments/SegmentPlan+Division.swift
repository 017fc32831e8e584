extension SegmentPlan {
    /// Returns the division into the present segments, to which requests are added; nil while the length is unknown.
    func division(known: IntervalSet, at now: Duration) -> Division? {
        length.map { Division(segments, length: $0, known: known, at: now) }
    }

    /// The division of the file as it will be if all requests are accepted.
    struct Division {
        /// The open range of an exchange, or the range of a request.
        private struct Part {
            var range: Range<Int64>
            /// One past the last byte of a request for the end of this part.
            let requestEnd: Int64
            /// The rate in bytes per second; nil while unknown.
            let rate: Double?
        }

        /// The parts in ascending order.
        private var parts: [Part]
        private let received: IntervalSet
        private let length: Int64

        fileprivate init(_ segments: [Segment], length: Int64, known: IntervalSet, at now: Duration) {
            self.length = length
            received = known
            parts = segments.map {
                Part(range: $0.openRange, requestEnd: $0.openRange.upperBound, rate: $0.rate(at: now))
            }
        }

        /// Adds the range of a request, which divides the part that contains its start.
        mutating func add(_ range: Range<Int64>) {
            let next = parts.firstIndex { $0.range.lowerBound > range.lowerBound } ?? parts.count
            var (end, requestEnd) = (range.upperBound, range.upperBound)
            if next < parts.count { end = min(end, parts[next].range.lowerBound) }
            if next > 0, parts[next - 1].range.upperBound > range.lowerBound {
                requestEnd = parts[next - 1].requestEnd
                end = parts[next - 1].range.upperBound
                parts[next - 1].range = parts[next - 1].range.clamped(to: 0..<range.lowerBound)
            }
            parts.insert(Part(range: range.lowerBound..<end, requestEnd: requestEnd, rate: nil), at: next)
        }

        /// The missing ranges outside all parts.
        var gaps: [Range<Int64>] {
            var covered = received
            for part in parts { covered.insert(part.range) }
            return covered.gaps(in: 0..<length)
        }

        /// The number of received ranges once every part has received bytes.
        var rangeCount: Int {
            let starts = parts.filter { part in
                part.range.lowerBound > 0 && received.range(containing: part.range.lowerBound - 1) == nil
            }
            return received.ranges.count + starts.count
        }

        /// Returns the first missing bytes that a part would reach only by receiving too many bytes again.
        func behindReceived(_ readThrough: (Double?) -> Int64) -> Range<Int64>? {
            for part in parts {
                let long = received.ranges.first { known in
                    known.overlaps(part.range) && known.upperBound < part.range.upperBound
                        && known.upperBound - max(known.lowerBound, part.range.lowerBound) > readThrough(part.rate)
                }
                if let long { return long.upperBound..<part.requestEnd }
            }
            return nil
        }
    }
}

// MARK: - Cuts

extension SegmentPlan.Division {
    /// Returns up to `count` ranges that divide the parts that would take longest.
    func cuts(_ count: Int, _ terms: ExchangeTable.RequestTerms, setup: Duration) -> [Range<Int64>] {
        let known = parts.compactMap(\.rate)
        // A new connection is expected to be as fast as the others.
        let usual = known.isEmpty ? nil : known.reduce(0, +) / Double(known.count)
        let shares = parts.map { part in
            Share(
                gaps: received.gaps(in: part.range), requestEnd: part.requestEnd, rate: part.rate ?? usual ?? 1,
                usual: usual ?? 1)
        }
        // Times can't be estimated without a rate.
        if terms.minimumTime != nil, usual == nil || usual == 0 { return [] }
        var divided = shares
        for _ in 0..<max(0, count) {
            let candidates = divided.indices.filter { divided[$0].isDivisible(terms) }
            guard let slowest = candidates.max(by: { divided[$0].time < divided[$1].time }) else { break }
            divided[slowest].exchangeCount += 1
        }
        let delay = usual == nil ? 0 : setup / .seconds(1)
        return divided.flatMap { share in
            share.cuts(delay: delay, terms).map { $0..<share.requestEnd }
        }
    }

    /// The number of exchanges that divide one part.
    private struct Share {
        let gaps: [Range<Int64>]
        let requestEnd: Int64
        /// The rate of the exchange that has the part, and the rate of each additional one.
        let rate, usual: Double
        let missing: Int64
        var exchangeCount = 1

        init(gaps: [Range<Int64>], requestEnd: Int64, rate: Double, usual: Double) {
            (self.gaps, self.requestEnd, self.rate, self.usual) = (gaps, requestEnd, rate, usual)
            missing = gaps.byteCount
        }

        private var totalRate: Double { rate + Double(exchangeCount - 1) * usual }

        /// The time that the exchanges need together, in seconds.
        var time: Double { Double(missing) / max(totalRate, 1) }

        func isDivisible(_ terms: ExchangeTable.RequestTerms) -> Bool {
            guard missing / Int64(exchangeCount + 1) >= terms.minimumLength else { return false }
            return terms.minimumTime.map { time >= $0 / .seconds(1) } ?? true
        }

        /// Returns the positions at which the additional exchanges begin, in ascending order.
        ///
        /// - Parameter delay: The time in seconds after which the additional exchanges begin to receive.
        func cuts(delay: Double, _ terms: ExchangeTable.RequestTerms) -> [Int64] {
            guard exchangeCount > 1 else { return [] }
            let others = Int64(exchangeCount - 1)
            // All exchanges end at the same time: first / rate = delay + rest / (rate of the others).
            let ownShare = rate / max(totalRate, 1)
            let ideal = ownShare * (Double(missing) + delay * Double(others) * usual)
            let most = missing - others * terms.minimumLength
            let first = min(max(Int64(min(ideal, Double(missing))), terms.minimumLength), most)
            let following = (missing - first) / others
            let unit: Int64 = missing / Int64(exchangeCount) >= 64 << 20 ? 1 << 20 : 64 << 10
            return (0..<others).map { index in
                let count = first + index * following
                // Parts shorter than the unit would be aligned to the same start.
                guard unit <= terms.minimumLength else { return position(after: count) }
                return aligned(count, unit, limit: missing - (others - index) * terms.minimumLength)
            }
        }

        /// Returns the multiple of `unit` before which about `count` bytes are missing, and at most `limit`.
        private func aligned(_ count: Int64, _ unit: Int64, limit: Int64) -> Int64 {
            let exact = position(after: count)
            let aligned = (exact + unit - 1) / unit * unit
            guard let gap = gaps.first(where: { $0.contains(aligned) }) else { return exact }
            let before = gaps.prefix { $0.lowerBound < gap.lowerBound }.byteCount
            return before + (aligned - gap.lowerBound) <= limit ? aligned : exact
        }

        /// Returns the missing position before which `count` bytes are missing.
        private func position(after count: Int64) -> Int64 {
            var rest = count
            for gap in gaps {
                if rest < gap.upperBound - gap.lowerBound { return gap.lowerBound + rest }
                rest -= gap.upperBound - gap.lowerBound
            }
            preconditionFailure("a cut behind the last missing byte")
        }
    }
}
