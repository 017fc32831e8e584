internal import Foundation

/// The seeds of tests that try random sequences.
///
/// The environment variable `ASYNC_DOWNLOADS_SEED_FACTOR` multiplies their number.
package enum Seeds {
    /// Returns the first `count` seeds, or a multiple of them.
    package static func first(_ count: Int) -> Range<UInt64> {
        0..<UInt64(count * factor(in: ProcessInfo.processInfo.environment))
    }

    /// Returns the first `count` seeds, or a multiple of them, in groups of `size`.
    package static func first(_ count: Int, inGroupsOf size: Int) -> [Range<UInt64>] {
        let seeds = first(count)
        return stride(from: 0, to: seeds.upperBound, by: size).map { $0..<min($0 + UInt64(size), seeds.upperBound) }
    }

    /// Returns the factor in the environment, which is a positive whole number; 1 for other values.
    package static func factor(in environment: [String: String]) -> Int {
        max(1, environment["ASYNC_DOWNLOADS_SEED_FACTOR"].flatMap(Int.init) ?? 1)
    }
}
