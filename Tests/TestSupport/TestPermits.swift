internal import Foundation

/// A limit on the number of tests that run at the same time.
///
/// Swift Testing starts all tests at once. A test would then share the processors with a thousand others while its server or its
/// child process answers, and the time for which it has run would say nothing about whether it is hung.
package final class TestPermits: @unchecked Sendable {  // `available` and `waiting` are accessed only under `lock`.
    /// The permits of all tests of the process, two for each processor.
    package static let shared = TestPermits(count: 2 * ProcessInfo.processInfo.activeProcessorCount)

    private let lock = NSLock()
    private var available: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    /// Creates a limit of `count` tests.
    package init(count: Int) {
        available = count
    }

    /// Runs `body` as soon as fewer than the maximum number of tests run, in the order of the calls.
    package func withPermit<Result>(_ body: () async throws -> Result) async rethrows -> Result {
        await acquire()
        defer { release() }
        return try await body()
    }

    private func acquire() async {
        await withCheckedContinuation { continuation in
            let isGranted = lock.withLock {
                guard available > 0 else {
                    waiting.append(continuation)
                    return false
                }
                available -= 1
                return true
            }
            if isGranted { continuation.resume() }
        }
    }

    /// Passes the permit to the test that has waited longest, or makes it available.
    private func release() {
        let next = lock.withLock { () -> CheckedContinuation<Void, Never>? in
            guard waiting.isEmpty else { return waiting.removeFirst() }
            available += 1
            return nil
        }
        next?.resume()
    }
}
