internal import Foundation
internal import TestSupport
internal import Testing

@testable import batch

/// The cost of a list that is too long for one machine, from the lanes that `batch split` would assign to its hosts.
///
/// The environment variable `ASYNC_DOWNLOADS_GROWTH` prints the figures of the article about many machines.
@Suite(.endsWhenHung) struct GrowthTests {
    /// The number of lines of each host, by Zipf's law, in the order of their first lines.
    private static func hosts(_ count: Int, lineCount: Int) -> [Int] {
        let weights = (1...count).map { 1 / Double($0) }
        let sum = weights.reduce(0, +)
        return weights.map { max(1, Int(Double(lineCount) * $0 / sum)) }
    }

    @Test(arguments: [(1_000_000, 1000, 8), (100_000_000, 100_000, 1000)])
    func `tasks read and do their own lines only`(lineCount: Int, hostCount: Int, taskCount: Int) {
        var numbers = LaneNumbers()
        var lanes = [Int](repeating: 0, count: LaneNumbers.count)
        var largest = [Int](repeating: 0, count: LaneNumbers.count)
        for (host, lines) in Self.hosts(hostCount, lineCount: lineCount).enumerated() {
            let lane = numbers.lane(ofHost: "h\(host).example")
            lanes[lane] += lines
            largest[lane] = max(largest[lane], lines)
        }
        let units = lanes.reduce(0) { $0 + ($1 + 9999) / 10_000 }
        let tasks = (0..<taskCount).map { task in
            stride(from: task, to: LaneNumbers.count, by: taskCount).reduce(0) { $0 + lanes[$1] }
        }
        let sorted = tasks.sorted()
        let total = lanes.reduce(0, +)
        #expect(abs(total - lineCount) < hostCount + 1)
        #expect(tasks.allSatisfy { $0 > 0 } && tasks.reduce(0, +) == total)
        // No task has more than the largest host requires, and its part of the rest.
        let share = 2 * (total - largest.reduce(0, max)) / taskCount
        #expect(tasks.allSatisfy { $0 <= largest.reduce(0, max) + share })
        guard ProcessInfo.processInfo.environment["ASYNC_DOWNLOADS_GROWTH"] != nil else { return }
        // A host that permits 40 requests at once and answers after 50 ms.
        let rate = 40 / 0.05
        print(
            """
            \(total) lines, \(hostCount) hosts, \(taskCount) tasks: \(units) units, \(3 * units) directory entries; \
            lines of a task: median \(sorted[taskCount / 2]), largest \(sorted[taskCount - 1]); \
            the largest host takes \(Int(Double(largest.reduce(0, max)) / rate)) s, \
            the median task \(Int(Double(sorted[taskCount / 2]) / rate)) s at this rate
            """)
    }
}
