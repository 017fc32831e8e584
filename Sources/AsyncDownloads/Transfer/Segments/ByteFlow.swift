/// The times at which bytes of any exchange of a transfer arrive.
///
/// While nothing arrives from any exchange, a single silent exchange can't be judged: the device may have lost its
/// network.
struct ByteFlow: Sendable {
    /// When bytes of a body last arrived.
    private(set) var lastArrival: Duration?
    /// When bytes arrived after a pause, or for the first time.
    private var start = Duration.zero
    /// The parts of the only exchange, and its identifier; nil while several exchanges are in progress.
    private var (sole, soleID) = (PartWatch(), ExchangeID?.none)
    /// The parts of each exchange while several are in progress.
    private var watches = SerialTable<ExchangeID, PartWatch>()

    /// The parts in which bytes arrive, if they have the same intervals; nil otherwise.
    ///
    /// The value is nil while several exchanges are in progress, and before two parts have arrived over a single one.
    var parts: BodyParts? { sole.parts }

    /// Forgets the parts, because another server sends the following bytes.
    mutating func hostChanged() { (sole, soleID, watches) = (PartWatch(), nil, SerialTable()) }

    /// Records that bytes of a body have arrived.
    ///
    /// - Parameters:
    ///   - count: The number of bytes.
    ///   - id: The exchange that has received them.
    ///   - isAlone: Whether no other exchange is in progress.
    ///   - pause: The time without bytes after which the flow counts as interrupted.
    mutating func arrived(
        _ count: Int, of id: ExchangeID, isAlone: Bool, at now: Duration, pause: Duration
    ) {
        if lastArrival.map({ now - $0 >= pause }) ?? true { start = now }
        lastArrival = now
        guard !isAlone else {
            if !watches.isEmpty { watches = SerialTable() }
            soleID = id
            return sole.arrived(count, at: now)
        }
        // The present part of the first exchange may have begun before the others were requested.
        if let soleID { watches.insert(sole, id: soleID) }
        (sole, soleID) = (PartWatch(), nil)
        guard watches.update(id, { $0.arrived(count, at: now) }) == nil else { return }
        var watch = PartWatch()
        watch.arrived(count, at: now)
        watches.insert(watch, id: id)
    }

    /// Returns the last parts of several exchanges; nil unless each of them receives parts.
    func connectionParts(of exchanges: some Sequence<ExchangeID>, at now: Duration) -> ConnectionParts? {
        var all = ConnectionParts(rate: 0, shortestInterval: .seconds(60), firstEnd: now)
        for id in exchanges {
            guard let (part, end) = watches[id]?.lastPart(at: now) else { return nil }
            all.rate += part.rate
            all.shortestInterval = min(all.shortestInterval, part.interval)
            all.firstEnd = min(all.firstEnd, end)
        }
        return all
    }

    /// Forgets the exchanges that have ended.
    mutating func keep(_ isInProgress: (ExchangeID) -> Bool) {
        if !watches.isEmpty { watches.removeAll { id, _ in !isInProgress(id) } }
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

/// The last parts of the bodies of several connections whose rates a server limits.
struct ConnectionParts: Sendable, Hashable {
    /// The sum of the connections' rates in bytes per second.
    var rate: Double
    /// The shortest time between the starts of two parts.
    var shortestInterval: Duration
    /// The end of the part that ended first; a part ends when the next one begins.
    var firstEnd: Duration
}

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
