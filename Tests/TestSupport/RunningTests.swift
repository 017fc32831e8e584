/// The running tests, with a search for tests that are hung at a given time.
package struct RunningTests: Sendable {
    /// A test that has started and has not ended.
    package struct Entry: Sendable {
        /// The suite, the function, the arguments, and the source location of the test.
        package let name: String
        /// The duration after which the test can be considered hung.
        package let limit: Duration
        /// The time when the test started.
        let start: SuspendingClock.Instant
    }

    /// A test that has run for longer than its limit, at a time when no test has ended recently.
    package struct Hung: Sendable, Equatable {
        /// The name with which the test was added.
        package let name: String
        /// The duration for which the test has been running.
        package let time: Duration

        /// Creates the description of a test that has been running for `time`.
        package init(name: String, time: Duration) {
            self.name = name
            self.time = time
        }
    }

    private let quietTime: Duration
    private var running: [Int: Entry] = [:]
    private var lastNumber = 0
    private var lastEnd: SuspendingClock.Instant?

    /// Creates a value without tests that considers a test hung only if no test has ended for longer than `quietTime`.
    ///
    /// On a busy machine, every test may exceed its limit; no test counts as hung while other tests continue to end.
    package init(quietTime: Duration) {
        self.quietTime = quietTime
    }

    /// The tests that have started and have not ended, in the order in which they started.
    package var entries: [Entry] { running.sorted { $0.key < $1.key }.map(\.value) }

    /// Adds a test, and returns the number to pass to ``end(_:at:)``.
    package mutating func begin(_ name: String, limit: Duration, at now: SuspendingClock.Instant) -> Int {
        lastNumber += 1
        running[lastNumber] = Entry(name: name, limit: limit, start: now)
        return lastNumber
    }

    /// Removes the test with this number.
    package mutating func end(_ number: Int, at now: SuspendingClock.Instant) {
        running[number] = nil
        lastEnd = now
    }

    /// Returns the hung tests in the order in which they started.
    package func hung(at now: SuspendingClock.Instant) -> [Hung] {
        if let lastEnd, now - lastEnd <= quietTime { return [] }
        return entries.filter { now - $0.start > $0.limit }.map { Hung(name: $0.name, time: now - $0.start) }
    }
}
