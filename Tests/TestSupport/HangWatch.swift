internal import Foundation

/// Ends the process when one of the tests that are registered with it is hung.
package final class HangWatch: @unchecked Sendable {  // `tests` and `isLooking` are touched only while `lock` is held.
    /// The watch of all tests of the process.
    package static let shared = HangWatch(quietTime: .seconds(90))

    private let lock = NSLock()
    private var tests: RunningTests
    private var isLooking = false

    /// Makes a watch that counts a test as hung only when no test has ended for longer than `quietTime`.
    package init(quietTime: Duration) {
        tests = RunningTests(quietTime: quietTime)
    }

    /// The tests that have begun and have not ended, in the order of their beginnings.
    package var entries: [RunningTests.Entry] { lock.withLock { tests.entries } }

    /// Registers a test that begins now, and returns the number to end it with.
    package func begin(_ name: String, limit: Duration) -> Int {
        lock.withLock {
            if !isLooking {
                isLooking = true
                // A thread of its own, since hung tests may have used up the threads of Dispatch and of Swift's tasks.
                Thread.detachNewThread { [self] in look() }
            }
            return tests.begin(name, limit: limit, at: .now)
        }
    }

    /// Removes the test with this number, which ends now.
    package func end(_ number: Int) {
        lock.withLock { tests.end(number, at: .now) }
    }

    /// Looks for hung tests once a second, for as long as the process lives.
    private func look() {
        while true {
            Thread.sleep(forTimeInterval: 1)
            let hung = lock.withLock { tests.hung(at: .now) }
            guard !hung.isEmpty else { continue }
            let lines = hung.map {
                "Test hung: \($0.name) has run for \($0.time.components.seconds) s; ending the process\n"
            }
            FileHandle.standardError.write(Data(lines.joined().utf8))
            // Unlike `exit`, it runs no handlers, which could wait for what the hung test holds.
            _exit(EXIT_FAILURE)
        }
    }
}
