/// The parts of a body that a server sends at regular intervals, because it limits the connection.
struct BodyParts: Sendable, Hashable {
    /// The time between the starts of two parts.
    let interval: Duration
    /// The number of bytes per second.
    let rate: Double
}

/// Detects that the body of a connection arrives in parts at regular intervals.
struct PartWatch: Sendable, Hashable {
    /// The time without bytes that separates two parts.
    private static let shortestGap = Duration.milliseconds(30)
    /// The interval above which parts are too rare for a measurement.
    private static let longestInterval = Duration.milliseconds(2500)
    /// The relative difference above which two intervals count as different.
    private static let tolerance = 0.125
    /// The number of different intervals after which the flow counts as irregular.
    private static let mostDifferences = 2

    /// The parts according to the first of the intervals, unless a later one was different.
    private(set) var parts: BodyParts?
    private var lastStart: Duration?
    /// The number of bytes since the start of the last part.
    private var byteCount = 0
    private var differenceCount = 0

    /// Records bytes that have arrived.
    mutating func arrived(_ count: Int, at now: Duration, after lastArrival: Duration?) {
        guard let lastArrival, let lastStart else { return start(count, at: now) }
        guard now - lastArrival >= Self.shortestGap else {
            // A single pause in a steady flow separates no parts.
            if let parts, now - lastStart > parts.interval * 1.5 { self.parts = nil }
            return byteCount += count
        }
        let (interval, partCount) = (now - lastStart, byteCount)
        start(count, at: now)
        guard interval <= Self.longestInterval else {
            // Bytes after a long pause may belong to another attempt.
            return parts = nil
        }
        guard differenceCount < Self.mostDifferences else { return }
        if let parts {
            guard abs((interval - parts.interval) / parts.interval) > Self.tolerance else { return }
            (self.parts, differenceCount) = (nil, differenceCount + 1)
        } else {
            parts = BodyParts(interval: interval, rate: Double(partCount) / (interval / .seconds(1)))
        }
    }

    private mutating func start(_ count: Int, at now: Duration) {
        (lastStart, byteCount) = (now, count)
    }
}
