/// The tests that are running, and which of them are hung at a given time.
package struct RunningTests: Sendable {
    /// A test that has begun and has not ended.
    package struct Entry: Sendable {
        /// The suite, the function, the arguments and the source location of the test.
        package let name: String
        /// How long the test may run before it can count as hung.
        package let limit: Duration
        /// When the test began.
        let start: SuspendingClock.Instant
    }

    /// A test that has run for longer than its limit while no other test ended.
    package struct Hung: Sendable, Equatable {
        /// The name that the test began with.
        package let name: String
        /// How long the test has been running.
        package let time: Duration

        /// Describes a test that has been running for `time`.
        package init(name: String, time: Duration) {
            self.name = name
            self.time = time
        }
    }

    private let quietTime: Duration
    private var running: [Int: Entry] = [:]
    private var lastNumber = 0
    private var lastEnd: SuspendingClock.Instant?

    /// Makes a value without tests that counts a test as hung only when no test has ended for longer than `quietTime`.
    ///
    /// A busy machine may take longer than the limit for every test; none is hung as long as others go on to end.
    package init(quietTime: Duration) {
        self.quietTime = quietTime
    }

    /// The tests that have begun and have not ended, in the order of their beginnings.
    package var entries: [Entry] { running.sorted { $0.key < $1.key }.map(\.value) }

    /// Adds a test, and returns the number to end it with.
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

    /// The hung tests, in the order of their beginnings.
    package func hung(at now: SuspendingClock.Instant) -> [Hung] {
        if let lastEnd, now - lastEnd <= quietTime { return [] }
        return entries.filter { now - $0.start > $0.limit }.map { Hung(name: $0.name, time: now - $0.start) }
    }
}
