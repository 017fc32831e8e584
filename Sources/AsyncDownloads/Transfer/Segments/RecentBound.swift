/// The lowest bound of the last seconds.
///
/// A larger bound applies only after it has lasted for some time, so that short files don't repeatedly close the
/// connections of a long file.
struct RecentBound: Sendable, Hashable {
    private static let memory = Duration.seconds(5)

    private(set) var value = Int.max
    /// When the value last applied.
    private var time = Duration.zero
    /// The lowest of the larger bounds that have applied since then.
    private var next = Int.max
    /// When that bound last applied.
    private var nextTime = Duration.zero

    /// Records the bound that applies now.
    mutating func update(_ new: Int, at now: Duration) {
        guard new > value else { return (value, time, next) = (new, now, .max) }
        if new <= next { (next, nextTime) = (new, now) }
        guard now - time >= Self.memory else { return }
        (value, time, next) = (next, nextTime, .max)
    }
}
