/// A set of byte positions in a file, stored as half-open ranges in ascending order that neither overlap nor touch.
struct IntervalSet: Sendable, Hashable {
    /// The ranges in ascending order; no two of them overlap or touch.
    private(set) var ranges: [Range<Int64>] = []

    /// Creates an empty set.
    init() {}

    /// Creates the set of the positions in `range`.
    init(_ range: Range<Int64>) {
        insert(range)
    }

    /// Creates the set of the positions in `ranges`, which may be in any order, overlap, and be empty.
    ///
    /// - Complexity: O(*n* log *n*), where *n* is the number of ranges; O(*n*) if they are sorted.
    init(_ ranges: some Sequence<Range<Int64>>) {
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) { insert(range) }
    }

    /// Creates a set from ranges that are encoded as `[lower, upper]` pairs.
    ///
    /// The result is nil unless the ranges are ascending, nonempty, and not negative, and don't overlap or touch.
    init?(pairs: [[Int64]]) {
        var ranges: [Range<Int64>] = []
        ranges.reserveCapacity(pairs.count)
        for pair in pairs {
            guard pair.count == 2, pair[0] >= 0, pair[0] < pair[1] else { return nil }
            ranges.append(pair[0]..<pair[1])
        }
        self.init(ranges)
        guard self.ranges == ranges else { return nil }
    }

    /// The number of bytes in the set.
    var count: Int64 { ranges.byteCount }

    /// Whether the set contains no byte.
    var isEmpty: Bool { ranges.isEmpty }

    /// The position after the last byte in the set, or 0 for an empty set.
    var upperBound: Int64 { ranges.last?.upperBound ?? 0 }

    /// The number of bytes from offset 0 to the first gap: the position at which a sequential download resumes.
    var prefixEnd: Int64 {
        guard let first = ranges.first, first.lowerBound == 0 else { return 0 }
        return first.upperBound
    }

    /// Adds the bytes of `range`, and merges ranges that overlap or touch.
    mutating func insert(_ range: Range<Int64>) {
        guard !range.isEmpty else { return }
        // A sequential download always extends the last range, and sorted ranges are added at the end, without a
        // search.
        guard let last = ranges.last, range.lowerBound <= last.upperBound else { return ranges.append(range) }
        if range.lowerBound >= last.lowerBound {
            ranges[ranges.count - 1] = last.lowerBound..<max(last.upperBound, range.upperBound)
            return
        }
        let start = partitioningIndex { $0.upperBound >= range.lowerBound }
        var end = start
        var joined = range
        while end < ranges.count, ranges[end].lowerBound <= range.upperBound {
            joined =
                min(joined.lowerBound, ranges[end].lowerBound)..<max(joined.upperBound, ranges[end].upperBound)
            end += 1
        }
        ranges.replaceSubrange(start..<end, with: CollectionOfOne(joined))
    }

    /// Removes every byte at or after `limit`.
    mutating func truncate(to limit: Int64) {
        ranges = ranges.compactMap { range in
            guard range.lowerBound < limit else { return nil }
            return range.lowerBound..<min(range.upperBound, limit)
        }
    }

    /// Removes all ranges except the `count` longest; among ranges of equal length, the first ones are kept.
    mutating func keepLongest(_ count: Int) {
        guard ranges.count > count else { return }
        let longest = ranges.sorted { first, second in
            let (length, other) = (first.upperBound - first.lowerBound, second.upperBound - second.lowerBound)
            return length == other ? first.lowerBound < second.lowerBound : length > other
        }
        ranges = longest.prefix(count).sorted { $0.lowerBound < $1.lowerBound }
    }

    /// Removes every byte of `other`.
    mutating func subtract(_ other: IntervalSet) {
        ranges = ranges.flatMap { other.gaps(in: $0) }
    }

    /// Removes every byte that isn't in `other`.
    mutating func formIntersection(_ other: IntervalSet) {
        var excess = self
        excess.subtract(other)
        subtract(excess)
    }

    /// Returns the first missing range below `length`, or `nil` if no byte is missing.
    func firstGap(below length: Int64) -> Range<Int64>? {
        let position = prefixEnd
        guard position < length else { return nil }
        let next = ranges.first { $0.lowerBound > position }?.lowerBound ?? length
        return position..<min(next, length)
    }

    /// Returns whether the set contains every byte below `length`.
    func isComplete(below length: Int64) -> Bool { firstGap(below: length) == nil }

    /// Returns the missing ranges within `range`, in ascending order.
    func gaps(in range: Range<Int64>) -> [Range<Int64>] {
        var gaps: [Range<Int64>] = []
        var position = range.lowerBound
        let start = partitioningIndex { $0.upperBound > position }
        for known in ranges[start...] {
            if known.lowerBound >= range.upperBound { break }
            if known.lowerBound > position { gaps.append(position..<known.lowerBound) }
            position = known.upperBound
        }
        if position < range.upperBound { gaps.append(position..<range.upperBound) }
        return gaps
    }

    /// Returns the range of the set that contains `position`, or `nil` if that byte is missing.
    func range(containing position: Int64) -> Range<Int64>? {
        let index = partitioningIndex { $0.upperBound > position }
        return index < ranges.count && ranges[index].contains(position) ? ranges[index] : nil
    }

    /// Returns the first missing position that is not below `position`.
    func firstMissing(from position: Int64) -> Int64 { range(containing: position)?.upperBound ?? position }

    /// Returns the index of the first range for which `isLater` is true, or the number of ranges if there is none.
    ///
    /// - Parameter isLater: A condition that is true for all ranges after the first one for which it is true.
    private func partitioningIndex(where isLater: (Range<Int64>) -> Bool) -> Int {
        var (low, high) = (0, ranges.count)
        while low < high {
            let middle = (low + high) / 2
            if isLater(ranges[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}

extension IntervalSet: Codable {
    /// Decodes an array of `[lower, upper]` pairs, which must be nonempty and ascending and must not touch.
    init(from decoder: any Decoder) throws {
        guard let set = try Self(pairs: [[Int64]](from: decoder)) else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "not an ascending list of intervals"))
        }
        self = set
    }

    /// Encodes an array of `[lower, upper]` pairs.
    func encode(to encoder: any Encoder) throws {
        try ranges.map { [$0.lowerBound, $0.upperBound] }.encode(to: encoder)
    }
}

extension Collection<Range<Int64>> {
    /// The number of positions in the ranges, which must not overlap.
    var byteCount: Int64 { reduce(0) { $0 + ($1.upperBound - $1.lowerBound) } }
}
