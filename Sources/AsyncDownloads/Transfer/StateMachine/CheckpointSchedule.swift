/// A schedule of checkpoints during an exchange: soon after the first bytes, then by size and by age.
///
/// Between two checkpoints, marks record the bytes in case the process is killed; marks need no sync. A checkpoint
/// protects against a loss of power, at the cost of a sync of the data.
struct CheckpointSchedule: Sendable {
    private static let firstSize: Int64 = 1 << 20
    private static let size: Int64 = 64 << 20
    private static let age = Duration.seconds(5)

    private var isSaving = false
    private var unsaved: Int64 = 0
    private var hasSaved = false
    /// The time of the last checkpoint or, before the first checkpoint, of the first bytes.
    private var start: Duration?

    /// Counts written bytes, and returns whether a checkpoint is due.
    mutating func wrote(_ count: Int, at now: Duration) -> Bool {
        unsaved += Int64(count)
        let start = start ?? now
        self.start = start
        guard !isSaving else { return false }
        let isDue = unsaved >= (hasSaved ? Self.size : Self.firstSize) || now - start >= Self.age
        if isDue {
            (isSaving, unsaved) = (true, 0)
            found(at: now)
        }
        return isDue
    }

    /// Records that the checkpoint has been written, or that writing it has failed.
    mutating func saved() {
        isSaving = false
    }

    /// Records that a checkpoint of an earlier run exists, so that the next one isn't urgent.
    mutating func found(at now: Duration) {
        (hasSaved, start) = (true, now)
    }

    /// Starts again for a new representation that has no checkpoint yet.
    mutating func reset() {
        unsaved = 0
        (hasSaved, start) = (false, nil)
    }
}

/// A schedule of marks: after each mebibyte, and a tenth of a second after the first unmarked byte.
///
/// A mark costs two system calls, and engines deliver parts as small as 16 KiB. If the partial file has a checkpoint, a
/// kill loses at most the bytes since the last mark, and no byte that was reported to a subscriber.
struct MarkSchedule: Sendable {
    static let size: Int64 = 1 << 20
    static let age = Duration.milliseconds(100)

    /// The next step after bytes were written.
    enum Step: Sendable, Hashable {
        /// Mark the bytes immediately.
        case now
        /// Call ``MarkSchedule/isDue(at:)`` after the delay.
        case after(Duration)
    }

    private var unmarkedCount: Int64 = 0
    private var markedAt: Duration?
    private var isTimerSet = false

    /// Counts written bytes, and returns the next step; nil for none.
    ///
    /// - Parameter isReported: Whether the bytes are reported to subscribers now.
    mutating func wrote(_ count: Int, at now: Duration, isReported: Bool) -> Step? {
        unmarkedCount += Int64(count)
        let age = markedAt.map { now - $0 }
        if isReported || unmarkedCount >= Self.size || age.map({ $0 >= Self.age }) ?? true {
            mark(at: now)
            return .now
        }
        guard !isTimerSet else { return nil }
        isTimerSet = true
        return .after(Self.age - (age ?? .zero))
    }

    /// Returns whether a mark is due after the delay.
    mutating func isDue(at now: Duration) -> Bool {
        isTimerSet = false
        guard unmarkedCount > 0 else { return false }
        mark(at: now)
        return true
    }

    private mutating func mark(at now: Duration) {
        unmarkedCount = 0
        markedAt = now
    }
}
