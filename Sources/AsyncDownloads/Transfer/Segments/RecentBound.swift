/// The lowest bound of the last seconds.
///
/// A larger bound applies only after it has lasted for some time, so that short files don't repeatedly close the
/// connections of a long file.
struct RecentBound: Sendable, Hashable {
    private static let memory = Duration.seconds(5)

    private(set) var value = Int.max
    /// When the value last applied.
    private var time = Duration.zero

    /// Records the bound that applies now.
    mutating func update(_ new: Int, at now: Duration) {
        guard new <= value || now - time >= Self.memory else { return }
        (value, time) = (new, now)
    }
}
