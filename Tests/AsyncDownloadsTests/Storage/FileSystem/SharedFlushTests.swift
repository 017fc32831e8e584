internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Tests of syncs of several files that share one flush of a drive's cache.
@Suite(.endsWhenHung)
struct SharedFlushTests {
    private static let failure = FileFailure(.other, errno: 5, operation: "sync", name: "a file", reason: "it fails")

    /// - Parameters:
    ///   - unwritten: The files that cannot be written to the cache.
    ///   - unflushed: The files with which the cache cannot be written the first time.
    ///   - failed: The files whose syncs have failed.
    ///   - flushed: The files with which the cache was written, in order.
    @Test(
        arguments: [
            (count: 0, unwritten: [], unflushed: [], failed: [], flushed: []),
            (count: 1, unwritten: [], unflushed: [], failed: [], flushed: [0]),
            (count: 1, unwritten: [], unflushed: [0], failed: [0], flushed: [0]),
            (count: 3, unwritten: [], unflushed: [], failed: [], flushed: [0]),
            (count: 3, unwritten: [0], unflushed: [], failed: [0], flushed: [1]),
            (count: 3, unwritten: [2], unflushed: [], failed: [2], flushed: [0]),
            (count: 3, unwritten: [], unflushed: [0], failed: [0], flushed: [0, 1, 2]),
            (count: 3, unwritten: [1], unflushed: [0, 2], failed: [0, 1, 2], flushed: [0, 2]),
            (count: 3, unwritten: [], unflushed: [0, 1, 2], failed: [0, 1, 2], flushed: [0, 1, 2]),
        ] as [(count: Int, unwritten: [Int32], unflushed: [Int32], failed: [Int32], flushed: [Int32])])
    func `rule 45: one flush serves all files unless one has failed, and none is repeated`(
        count: Int, unwritten: [Int32], unflushed: [Int32], failed: [Int32], flushed: [Int32]
    ) {
        let calls = Mutex<[Int32]>([])
        let sync = SharedFlush { file in
            let isFirst = calls.withLock { calls in
                defer { calls.append(file.number) }
                return !calls.contains(file.number)
            }
            return isFirst && unflushed.contains(file.number) ? Self.failure : nil
        } write: { file in
            unwritten.contains(file.number) ? Self.failure : nil
        }
        let failures = sync.failures(of: (0..<Int32(count)).map { OpenFile(number: $0, name: "\($0)") })
        #expect(failures.indices.filter { failures[$0] != nil }.map(Int32.init) == failed)
        #expect(calls.withLock { $0 } == flushed)
    }
}
