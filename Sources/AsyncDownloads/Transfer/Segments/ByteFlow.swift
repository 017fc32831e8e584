/// The times at which bytes of any exchange of a transfer arrive.
///
/// While nothing arrives from any exchange, a single silent exchange can't be judged: the device may have lost its
/// network.
struct ByteFlow: Sendable, Hashable {
    /// When bytes of a body last arrived.
    private(set) var lastArrival: Duration?
    /// When bytes arrived after a pause, or for the first time.
    private var start = Duration.zero
    private var partWatch = PartWatch()

    /// The parts in which bytes arrive, if they have the same intervals; nil otherwise.
    ///
    /// The value is nil while several exchanges are in progress, and before two parts have arrived over a single one.
    var parts: BodyParts? { partWatch.parts }

    /// Forgets the parts, because another server sends the following bytes.
    mutating func hostChanged() { partWatch = PartWatch() }

    /// Records that bytes of a body have arrived.
    ///
    /// - Parameters:
    ///   - count: The number of bytes.
    ///   - isAlone: Whether no other exchange is in progress.
    ///   - pause: The time without bytes after which the flow counts as interrupted.
    mutating func arrived(_ count: Int, isAlone: Bool, at now: Duration, pause: Duration) {
        if lastArrival.map({ now - $0 >= pause }) ?? true { start = now }
        if isAlone { partWatch.arrived(count, at: now, after: lastArrival) } else { partWatch = PartWatch() }
        lastArrival = now
    }

    /// Returns how long bytes have been arriving without a pause; nil while nothing arrives.
    func time(at now: Duration, pause: Duration) -> Duration? {
        guard let lastArrival, now - lastArrival < pause else { return nil }
        return now - start
    }

    /// Returns whether bytes have arrived after `time`.
    func hasArrived(since time: Duration) -> Bool { lastArrival.map { $0 > time } ?? false }
}

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
