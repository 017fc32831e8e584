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

/// The last parts of the bodies of several connections whose rates a server limits.
struct ConnectionParts: Sendable, Hashable {
    /// The sum of the connections' rates in bytes per second.
    var rate: Double
    /// The shortest time between the starts of two parts.
    var shortestInterval: Duration
    /// The end of the part that ended first; a part ends when the next one begins.
    var firstEnd: Duration
}
