/// When to save a checkpoint beside a running exchange: soon after the first bytes, then by size and by age.
///
/// The first claims nothing, so that it need not wait for a sync of the data: from then on cheap marks tell where a
/// process was that dies on a living machine. The others are for the loss of power, and each costs a sync.
struct SavingSchedule: Sendable {
    /// What is to be saved.
    enum Due: Sendable, Hashable {
        /// A checkpoint of no bytes, behind which marks can be written.
        case claim
        /// A checkpoint of all bytes that are there.
        case checkpoint
    }

    private static let firstSize: Int64 = 256 << 10
    private static let size: Int64 = 64 << 20
    private static let age = Duration.seconds(5)

    var isUnderWay = false
    private var unsaved: Int64 = 0
    private var savedAt: Duration?

    /// Counts written bytes; what is due then.
    mutating func wrote(_ count: Int, at now: Duration) -> Due? {
        unsaved += Int64(count)
        guard !isUnderWay else { return nil }
        guard let savedAt else {
            guard unsaved >= Self.firstSize else { return nil }
            self.savedAt = now
            isUnderWay = true
            return .claim
        }
        guard unsaved >= Self.size || now - savedAt >= Self.age else { return nil }
        start(at: now)
        return .checkpoint
    }

    /// A checkpoint before a pause of unknown length; false when it would say nothing new.
    mutating func begin(resumable: Bool) -> Bool {
        guard resumable, !isUnderWay, unsaved > 0 else { return false }
        start(at: savedAt ?? .zero)
        return true
    }

    /// A checkpoint is there from an earlier run: it claims more than nothing, and marks can be written behind it.
    mutating func found(at now: Duration) {
        savedAt = now
    }

    /// A new representation begins: nothing of it is saved.
    mutating func reset() {
        unsaved = 0
        savedAt = nil
    }

    private mutating func start(at now: Duration) {
        isUnderWay = true
        unsaved = 0
        savedAt = now
    }
}
