/// The times at which bytes of any exchange of a transfer arrive.
///
/// While nothing arrives from any exchange, a single silent exchange can't be judged: the device may have lost its
/// network.
struct ByteFlow: Sendable, Hashable {
    /// When bytes of a body last arrived.
    private(set) var lastArrival: Duration?
    /// When bytes arrived after a pause, or for the first time.
    private var start = Duration.zero

    /// Records that bytes of a body have arrived.
    ///
    /// - Parameter pause: The time without bytes after which the flow counts as interrupted.
    mutating func arrived(at now: Duration, pause: Duration) {
        if lastArrival.map({ now - $0 >= pause }) ?? true { start = now }
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
