internal import Foundation

/// A watchdog that ends the process when a registered test is hung.
package final class HangWatch: @unchecked Sendable {  // `tests` and `isWatching` are accessed only under `lock`.
    /// The watchdog for all tests of the process.
    package static let shared = HangWatch(quietTime: .seconds(90))

    private let lock = NSLock()
    private var tests: RunningTests
    private var isWatching = false

    /// Creates a watchdog that considers a test hung only if no test has ended for longer than `quietTime`.
    package init(quietTime: Duration) {
        tests = RunningTests(quietTime: quietTime)
    }

    /// The tests that have started and have not ended, in the order in which they started.
    package var entries: [RunningTests.Entry] { lock.withLock { tests.entries } }

    /// Registers a test that starts now, and returns the number to pass to ``end(_:)``.
    package func begin(_ name: String, limit: Duration) -> Int {
        lock.withLock {
            if !isWatching {
                isWatching = true
                // A separate thread is used because hung tests may block all threads of Dispatch and Swift concurrency.
                Thread.detachNewThread { [self] in watch() }
            }
            return tests.begin(name, limit: limit, at: .now)
        }
    }

    /// Removes the test with this number, because it has ended.
    package func end(_ number: Int) {
        lock.withLock { tests.end(number, at: .now) }
    }

    /// Checks for hung tests once a second until the process exits.
    private func watch() {
        while true {
            Thread.sleep(forTimeInterval: 1)
            let hung = lock.withLock { tests.hung(at: .now) }
            guard !hung.isEmpty else { continue }
            let lines = hung.map {
                "Test hung: \($0.name) has run for \($0.time.components.seconds) s; ending the process\n"
            }
            FileHandle.standardError.write(Data(lines.joined().utf8))
            // Unlike `exit`, `_exit` runs no handlers, which could wait for a lock that the hung test holds.
            _exit(EXIT_FAILURE)
        }
    }
}
