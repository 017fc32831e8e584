/// What the state machine remembers of the exchange under way.
struct ExchangeProgress: Sendable {
    let number: Int
    let asked: AskedRange
    /// Where the next byte belongs.
    var position: Int64
    /// One past the last byte that the head promised; nil while unknown.
    var end: Int64?
    /// Bytes at the body's beginning that are there already.
    var toSkip: Int64 = 0
    /// Whether more came than was promised.
    var overflowed = false
    /// When something last arrived, or was last written.
    var lastActivity: Duration
    /// Whether bytes are being written, so that the engine is held up.
    var isWriting = false
    /// The end, when the engine reports it while the store still makes room.
    var earlyEnd: ExchangeEnd?
}

/// When to save a checkpoint beside a running exchange: soon after the first bytes, then by size and by age.
///
/// Between two checkpoints, cheap marks tell a process that dies on a living machine where it was; the checkpoints are
/// for the loss of power, and each costs a sync of the data.
struct SavingSchedule: Sendable {
    private static let firstSize: Int64 = 1 << 20
    private static let size: Int64 = 64 << 20
    private static let age = Duration.seconds(5)

    var isUnderWay = false
    private var unsaved: Int64 = 0
    private var savedAt: Duration?

    /// Counts written bytes; true when a checkpoint is due.
    mutating func wrote(_ count: Int, at now: Duration) -> Bool {
        unsaved += Int64(count)
        guard !isUnderWay else { return false }
        guard let savedAt else { return unsaved >= Self.firstSize && start(at: now) }
        return (unsaved >= Self.size || now - savedAt >= Self.age) && start(at: now)
    }

    /// A checkpoint before a pause of unknown length; false when it would say nothing new.
    mutating func begin(resumable: Bool) -> Bool {
        guard resumable, !isUnderWay, unsaved > 0 else { return false }
        return start(at: savedAt ?? .zero)
    }

    /// A new representation begins: nothing of it is saved.
    mutating func reset() {
        unsaved = 0
        savedAt = nil
    }

    private mutating func start(at now: Duration) -> Bool {
        isUnderWay = true
        unsaved = 0
        savedAt = now
        return true
    }
}
