/// Detects that the body of a connection arrives in parts at regular intervals.
///
/// A server that counts whole seconds sends parts of different lengths, followed by pauses in proportion to their lengths,
/// so that their rates are equal. ``parts`` is nil for them.
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
    /// The part before the present one, unless the pause after it was shorter than half of its interval, as in a steady flow
    /// with short gaps.
    private var last: BodyParts?
    private var lastArrival: Duration?
    /// The start of the present part.
    private var lastStart: Duration?
    /// The number of bytes since then.
    private var byteCount = 0
    private var differenceCount = 0

    /// Returns the last part that was followed by another one, and its end.
    ///
    /// The result is nil if the present part has lasted longer than its bytes take at the rate of the last one, because the
    /// server may send the bytes of a common limit over other connections.
    func lastPart(at now: Duration) -> (part: BodyParts, end: Duration)? {
        guard let last, let lastStart,
            (now - lastStart) / .seconds(1) <= Double(byteCount) / last.rate * (1 + 2 * Self.tolerance)
        else { return nil }
        return (last, lastStart)
    }

    /// Records bytes that have arrived.
    mutating func arrived(_ count: Int, at now: Duration) {
        defer { lastArrival = now }
        guard let lastArrival, let lastStart else { return start(count, at: now) }
        guard now - lastArrival >= Self.shortestGap else {
            // A single pause in a steady flow separates no parts.
            if let parts, now - lastStart > parts.interval * 1.5 { self.parts = nil }
            if let last, now - lastStart > last.interval * 1.5 { self.last = nil }
            return byteCount += count
        }
        let (interval, pause, partCount) = (now - lastStart, now - lastArrival, byteCount)
        start(count, at: now)
        guard interval <= Self.longestInterval else {
            // Bytes after a long pause may belong to another attempt.
            return (parts, last) = (nil, nil)
        }
        let part = BodyParts(interval: interval, rate: Double(partCount) / (interval / .seconds(1)))
        last = pause >= interval / 2 ? part : nil
        guard differenceCount < Self.mostDifferences else { return }
        guard let parts else { return self.parts = part }
        guard abs((interval - parts.interval) / parts.interval) > Self.tolerance else { return }
        (self.parts, differenceCount) = (nil, differenceCount + 1)
    }

    private mutating func start(_ count: Int, at now: Duration) {
        (lastStart, byteCount) = (now, count)
    }
}

/// The parts of a body that a server sends at regular intervals, because it limits the connection.
struct BodyParts: Sendable, Hashable {
    /// The time between the starts of two parts.
    let interval: Duration
    /// The number of bytes per second.
    let rate: Double
}
