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
