/// The times at which bytes may be received so that a limit of bytes per second is kept.
///
/// Bytes are due in the order in which they are reserved, whichever transfer they belong to. Transfers that receive
/// parts of the same length therefore have equal shares.
struct BandwidthPace: Sendable {
    /// The longest delay that later bytes may compensate for.
    ///
    /// Without it, each late timer would lower the rate. With more, a pause of the server would be followed by a burst.
    static let credit = Duration.milliseconds(100)

    /// The number of bytes per second, at least 1; nil if there is no limit.
    private(set) var limit: Int64?
    /// The time at which all reserved bytes are due.
    private var end = Duration.zero - credit

    init(limit: Int64?) {
        self.limit = limit.map { max($0, 1) }
    }

    /// Returns the time at which the next bytes may be received after `count` bytes that have arrived now.
    ///
    /// The result is nil if they may be received at once.
    mutating func reserve(_ count: Int, at now: Duration) -> Duration? {
        guard let limit else { return nil }
        end = max(end, now - Self.credit) + .seconds(count) / limit
        return end > now ? end : nil
    }

    /// Returns whether bytes that arrive now have to wait.
    func isLimiting(at now: Duration) -> Bool { limit != nil && end > now }

    /// Changes the limit, and returns how the times that were returned before change.
    mutating func setLimit(_ new: Int64?, at now: Duration) -> (_ due: Duration) -> Duration {
        let old = limit
        limit = new.map { max($0, 1) }
        guard let old, let limit else {
            end = now
            return { _ in now }
        }
        let adjust: (Duration) -> Duration = { due in due > now ? now + (due - now) * old / limit : due }
        end = adjust(end)
        return adjust
    }
}
