/// What has been written since the checkpoint, for a process that dies while the machine lives on.
///
/// One line, written by one call and never synced:
///
///     mark GENERATION ROLLBACK SESSION 0-1048576,2097152-3145728 CRC32
///
/// A block of its own behind the rollback's has two slots for marks. They are written in turn, so that a write which
/// is torn leaves the mark before it.
///
/// The bytes that it speaks of may be in the system's memory only. So it counts only in the session in which it was
/// written, when that memory is still there, and only behind the checkpoint and the rollback that it goes on from.
struct CheckpointMark: Sendable, Hashable {
    /// The checkpoint's ``Checkpoint/generation``.
    var generation: UInt64
    /// The ``CheckpointRollback/number`` of the last rollback; 0 where there was none.
    var rollback: UInt64 = 0
    /// The machine's run, and the device that it found the file on.
    var session: String
    /// All bytes that are there, the checkpoint's included.
    var received: IntervalSet
}

extension CheckpointMark {
    /// The slots in a block.
    static let slotCount = 2

    /// The length of a slot in bytes.
    static let slotSize = Checkpoint.blockSize / slotCount

    /// The marks that can be read in `block`, each with its slot.
    static func all(in block: ArraySlice<UInt8>) -> [(slot: Int, mark: CheckpointMark)] {
        (0..<slotCount).compactMap { slot in
            CheckpointMark(block.dropFirst(slot * slotSize).prefix(slotSize)).map { (slot, $0) }
        }
    }

    /// The bytes to write; nil where the ranges are too many for a slot.
    func encoded() -> [UInt8]? {
        guard let ranges = received.word(limit: Self.slotSize) else { return nil }
        return CheckedLine.encoded(
            ["mark", "\(generation)", "\(rollback)", session, ranges], limit: Self.slotSize)
    }

    /// Reads a slot; nil where there is no mark, or a torn one.
    init?(_ slot: ArraySlice<UInt8>) {
        guard let words = CheckedLine.words(of: slot), words.count == 5, words[0] == "mark",
            let generation = UInt64(words[1]), let rollback = UInt64(words[2]),
            let received = IntervalSet(word: words[4])
        else { return nil }
        self.init(generation: generation, rollback: rollback, session: String(words[3]), received: received)
    }
}
