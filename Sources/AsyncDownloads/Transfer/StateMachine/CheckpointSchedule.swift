/// Decides when to save a checkpoint during an exchange: soon after the first bytes, then by size and by age.
///
/// Between two checkpoints, marks record the bytes in case the process is killed; they need no sync. A checkpoint
/// protects against the loss of power, and costs a sync of the data.
struct CheckpointSchedule: Sendable {
    private static let firstSize: Int64 = 1 << 20
    private static let size: Int64 = 64 << 20
    private static let age = Duration.seconds(5)

    private var isSaving = false
    private var unsaved: Int64 = 0
    private var savedAt: Duration?
    /// The time of the first bytes, before the first checkpoint.
    private var begunAt: Duration?

    /// Counts written bytes, and returns whether a checkpoint is due.
    mutating func wrote(_ count: Int, at now: Duration) -> Bool {
        unsaved += Int64(count)
        guard !isSaving else { return false }
        let size = savedAt == nil ? Self.firstSize : Self.size
        let last = savedAt ?? begunAt ?? now
        begunAt = last
        let isDue = unsaved >= size || now - last >= Self.age
        if isDue { start(at: now) }
        return isDue
    }

    /// Records that a checkpoint is written, or could not be.
    mutating func saved() {
        isSaving = false
    }

    /// Records that a checkpoint of an earlier run exists, so that the next one isn't urgent.
    mutating func found(at now: Duration) {
        savedAt = now
    }

    /// Starts again for a new representation, of which nothing is saved.
    mutating func reset() {
        unsaved = 0
        (savedAt, begunAt) = (nil, nil)
    }

    private mutating func start(at now: Duration) {
        isSaving = true
        unsaved = 0
        savedAt = now
    }
}
