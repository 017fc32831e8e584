/// Decides when to mark the written bytes: after each mebibyte, and a tenth of a second after the first unmarked byte.
///
/// A mark costs two system calls, and engines deliver parts as small as 16 KiB. A kill therefore loses at most the
/// bytes between two marks, and never a byte that was reported to a subscriber, if the partial file has a checkpoint.
struct MarkSchedule: Sendable {
    static let size: Int64 = 1 << 20
    static let age = Duration.milliseconds(100)

    /// The step that follows after bytes were written.
    enum Step: Sendable, Hashable {
        /// Mark at once.
        case now
        /// Call ``MarkSchedule/isDue(at:)`` after the delay.
        case after(Duration)
    }

    private var unmarkedCount: Int64 = 0
    private var markedAt: Duration?
    private var isTimerSet = false

    /// Counts written bytes, and returns what to do.
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
