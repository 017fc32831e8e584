/// A time that doubles with each use, up to a maximum.
struct DoublingTime: Sendable, Hashable {
    private let first: Duration
    private let longest: Duration
    private var next: Duration

    init(first: Duration, longest: Duration) {
        (self.first, self.longest, next) = (first, longest, first)
    }

    /// Returns the time, and doubles it.
    mutating func take() -> Duration {
        defer { next = min(next * 2, longest) }
        return next
    }

    /// Resets the time to the first one.
    mutating func reset() {
        next = first
    }
}
