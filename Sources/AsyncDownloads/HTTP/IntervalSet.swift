/// Which bytes of a file are there: disjoint, non-touching half-open ranges in ascending order.
package struct IntervalSet: Sendable, Hashable {
    /// The ranges, ascending; no two touch.
    package private(set) var ranges: [Range<Int64>] = []

    /// The empty set.
    package init() {}

    /// The set of one range; empty where the range is.
    package init(_ range: Range<Int64>) {
        insert(range)
    }

    /// How many bytes are there.
    package var count: Int64 { ranges.reduce(0) { $0 + ($1.upperBound - $1.lowerBound) } }

    /// Whether nothing is there.
    package var isEmpty: Bool { ranges.isEmpty }

    /// One past the last byte that is there, or 0.
    package var upperBound: Int64 { ranges.last?.upperBound ?? 0 }

    /// The number of bytes from offset 0 without a gap: where a sequential download goes on.
    package var prefixEnd: Int64 {
        guard let first = ranges.first, first.lowerBound == 0 else { return 0 }
        return first.upperBound
    }

    /// Adds the bytes of `range`, joining what touches.
    package mutating func insert(_ range: Range<Int64>) {
        guard !range.isEmpty else { return }
        if let last = ranges.last, last.upperBound == range.lowerBound {
            // The way of every sequential download, so it must not search.
            ranges[ranges.count - 1] = last.lowerBound..<range.upperBound
            return
        }
        let start = ranges.firstIndex { $0.upperBound >= range.lowerBound } ?? ranges.count
        var end = start
        var joined = range
        while end < ranges.count, ranges[end].lowerBound <= range.upperBound {
            joined =
                min(joined.lowerBound, ranges[end].lowerBound)..<max(joined.upperBound, ranges[end].upperBound)
            end += 1
        }
        ranges.replaceSubrange(start..<end, with: CollectionOfOne(joined))
    }

    /// Removes every byte at or above `limit`.
    package mutating func truncate(to limit: Int64) {
        ranges = ranges.compactMap { range in
            guard range.lowerBound < limit else { return nil }
            return range.lowerBound..<min(range.upperBound, limit)
        }
    }

    /// The first range that is missing below `length`, or nil when nothing is.
    package func firstGap(below length: Int64) -> Range<Int64>? {
        var position: Int64 = 0
        for range in ranges {
            if range.lowerBound > position { break }
            position = range.upperBound
        }
        guard position < length else { return nil }
        let next = ranges.first { $0.lowerBound > position }?.lowerBound ?? length
        return position..<min(next, length)
    }

    /// Whether every byte below `length` is there.
    package func isComplete(below length: Int64) -> Bool { firstGap(below: length) == nil }
}

extension IntervalSet: Codable {
    /// Reads an array of `[lower, upper]` pairs; anything but ascending, non-empty pairs is refused.
    package init(from decoder: any Decoder) throws {
        let pairs = try [[Int64]](from: decoder)
        for pair in pairs {
            guard pair.count == 2, pair[0] >= 0, pair[0] < pair[1], pair[0] > (ranges.last?.upperBound ?? -1) else {
                throw DecodingError.dataCorrupted(
                    .init(codingPath: decoder.codingPath, debugDescription: "intervals must ascend"))
            }
            ranges.append(pair[0]..<pair[1])
        }
    }

    /// Writes an array of `[lower, upper]` pairs.
    package func encode(to encoder: any Encoder) throws {
        try ranges.map { [$0.lowerBound, $0.upperBound] }.encode(to: encoder)
    }
}
