internal import Foundation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Tests of the interval set against a model that stores each position separately.
@Suite("IntervalSet", .endsWhenHung)
struct IntervalSetTests {
    @Test(arguments: UInt64(0)..<50)
    func `an interval set has the same content as a set of single positions`(seed: UInt64) {
        var generator = SplitMix64(seed: seed)
        var intervals = IntervalSet()
        var bytes: Set<Int64> = []
        for _ in 0..<60 {
            let lower = Int64.random(in: 0..<60, using: &generator)
            let upper = Int64.random(in: lower...64, using: &generator)
            if UInt8.random(in: 0..<8, using: &generator) == 0 {
                intervals.truncate(to: lower)
                bytes = bytes.filter { $0 < lower }
            } else {
                intervals.insert(lower..<upper)
                bytes.formUnion(lower..<upper)
            }
            check(intervals, bytes, limit: upper)
        }
    }

    private func check(_ intervals: IntervalSet, _ bytes: Set<Int64>, limit: Int64) {
        #expect(Set(intervals.ranges.flatMap { Array($0) }) == bytes)
        #expect(zip(intervals.ranges, intervals.ranges.dropFirst()).allSatisfy { $0.upperBound < $1.lowerBound })
        #expect(intervals.ranges.allSatisfy { !$0.isEmpty })
        #expect(intervals.count == Int64(bytes.count))
        #expect(intervals.isEmpty == bytes.isEmpty)
        #expect(intervals.upperBound == (bytes.max().map { $0 + 1 } ?? 0))
        #expect(intervals.prefixEnd == (0...).first { !bytes.contains($0) })
        let missing = (0..<limit).filter { !bytes.contains($0) }
        let gap = missing.first.map { first in
            first..<((first..<limit).first { bytes.contains($0) } ?? limit)
        }
        #expect(intervals.firstGap(below: limit) == gap)
        #expect(intervals.isComplete(below: limit) == missing.isEmpty)
        for lower in [0, limit / 3, limit] {
            let gaps = intervals.gaps(in: lower..<limit)
            #expect(gaps.flatMap { Array($0) } == missing.filter { $0 >= lower })
            #expect(zip(gaps, gaps.dropFirst()).allSatisfy { $0.upperBound < $1.lowerBound })
            #expect(intervals.range(containing: lower) == intervals.ranges.first { $0.contains(lower) })
            #expect(intervals.firstMissing(from: lower) == (lower...).first { !bytes.contains($0) })
        }
    }

    @Test(arguments: UInt64(0)..<300)
    func `differences and intersections are those of sets of positions`(seed: UInt64) {
        var generator = SplitMix64(seed: seed)
        func random() -> (IntervalSet, Set<Int64>) {
            var (intervals, bytes) = (IntervalSet(), Set<Int64>())
            for _ in 0..<Int.random(in: 0...6, using: &generator) {
                let start = Int64.random(in: 0...40, using: &generator)
                let range = start..<start + Int64.random(in: 0...12, using: &generator)
                intervals.insert(range)
                bytes.formUnion(range)
            }
            return (intervals, bytes)
        }
        let (first, second) = (random(), random())
        var (difference, common) = (first.0, first.0)
        difference.subtract(second.0)
        common.formIntersection(second.0)
        check(difference, first.1.subtracting(second.1), limit: 60)
        check(common, first.1.intersection(second.1), limit: 60)
    }

    @Test(arguments: UInt64(0)..<200)
    func `a set of many ranges is that of inserting one range after another`(seed: UInt64) {
        var generator = SplitMix64(seed: seed)
        let ranges = (0..<Int.random(in: 0...40, using: &generator)).map { _ -> Range<Int64> in
            let start = Int64.random(in: 0...100, using: &generator)
            return start..<start + Int64.random(in: 0...12, using: &generator)
        }
        var inserted = IntervalSet()
        for range in ranges { inserted.insert(range) }
        #expect(IntervalSet(ranges) == inserted)
        check(inserted, Set(ranges.flatMap { Array($0) }), limit: 120)
        let count = Int.random(in: 0...5, using: &generator)
        var longest = inserted
        longest.keepLongest(count)
        #expect(longest.ranges.count == min(count, inserted.ranges.count))
        #expect(longest.ranges == inserted.ranges.filter(longest.ranges.contains))
        let removed = inserted.ranges.filter { !longest.ranges.contains($0) }
        #expect((removed.map(\.count).max() ?? 0) <= (longest.ranges.map(\.count).min() ?? .max))
    }

    /// With a search of all ranges for each one, this test takes minutes.
    @Test func `a set of 200,000 ranges is created, decoded, and intersected`() throws {
        let ranges = (0..<Int64(200_000)).map { $0 * 10..<$0 * 10 + 5 }
        let set = IntervalSet(ranges.reversed())
        #expect(set.ranges == ranges)
        #expect(IntervalSet(ranges.map { $0.lowerBound..<$0.upperBound + 7 }).ranges == [0..<2_000_002])
        let word = try #require(set.word(limit: .max))
        #expect(IntervalSet(word: Substring(word)) == set)
        #expect(try JSONDecoder().decode(IntervalSet.self, from: JSONEncoder().encode(set)) == set)
        var common = set
        common.formIntersection(IntervalSet(ranges.map { $0.lowerBound + 2..<$0.lowerBound + 9 }))
        #expect(common.ranges == ranges.map { $0.lowerBound + 2..<$0.upperBound })
    }

    @Test func `the bounds of the largest ranges do not overflow`() {
        let all = 0..<Int64.max
        var set = IntervalSet([all, 5..<9, Int64.max - 1..<Int64.max, 3..<3])
        #expect(set.ranges == [all] && set.count == .max)
        set.keepLongest(1)
        #expect(set.ranges == [all] && set.gaps(in: all).isEmpty && set.firstMissing(from: 7) == .max)
    }

    @Test(arguments: ["", "0", "0-", "-1-4", "1-x-2", "5-5", "0-5,5-9", "8-9,0-5", "0-5,", "0-9999999999999999999"])
    func `a word that is not one of a set is rejected`(word: String) {
        #expect(IntervalSet(word: Substring(word)) == nil)
    }

    @Test func `an interval set is encoded as pairs and decoded from them`() throws {
        var intervals = IntervalSet(0..<10)
        intervals.insert(20..<30)
        let data = try JSONEncoder().encode(intervals)
        #expect(String(decoding: data, as: UTF8.self) == "[[0,10],[20,30]]")
        #expect(try JSONDecoder().decode(IntervalSet.self, from: data) == intervals)
    }

    @Test(arguments: ["[[0]]", "[[5,5]]", "[[5,4]]", "[[-1,4]]", "[[0,5],[5,9]]", "[[8,9],[0,5]]", "[[0,1,2]]", "{}"])
    func `anything but an ascending list of nonempty intervals is rejected`(text: String) {
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(IntervalSet.self, from: Data(text.utf8)) }
    }
}
