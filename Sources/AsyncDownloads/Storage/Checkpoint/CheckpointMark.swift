/// A record of the bytes written since the checkpoint, for use after the process ends unexpectedly.
///
/// A mark is one line, written by one call and never synced:
///
///     mark GENERATION ROLLBACK SESSION 0-1048576,2097152-3145728 CRC32
///
/// The block after the rollback block has two slots for marks. They are written alternately, so that a torn write does
/// not destroy the previous mark.
///
/// The bytes that a mark describes may exist only in the system's page cache. A mark is therefore valid only in the
/// session in which it was written, and only for the checkpoint and the rollback that it names.
struct CheckpointMark: Sendable, Hashable {
    /// The checkpoint's ``Checkpoint/generation``.
    var generation: UInt64
    /// The ``CheckpointRollback/number`` of the last rollback before the mark, or 0.
    var rollback: UInt64 = 0
    /// The session in which the mark was written: the boot of the machine, and the device.
    var session: String
    /// All received intervals, including the checkpoint's intervals.
    var received: IntervalSet
}

extension CheckpointMark {
    /// The number of slots in a block.
    static let slotCount = 2

    /// The length of a slot, in bytes.
    static let slotSize = Checkpoint.blockSize / slotCount

    /// Returns the readable marks in `block`, each with its slot.
    static func all(in block: ArraySlice<UInt8>) -> [(slot: Int, mark: CheckpointMark)] {
        (0..<slotCount).compactMap { slot in
            CheckpointMark(block.dropFirst(slot * slotSize).prefix(slotSize)).map { (slot, $0) }
        }
    }

    /// Returns the bytes to write, or nil if the ranges do not fit in a slot.
    func encoded() -> [UInt8]? {
        guard let ranges = received.word(limit: Self.slotSize) else { return nil }
        return CheckedLine.encoded(
            ["mark", "\(generation)", "\(rollback)", session, ranges], limit: Self.slotSize)
    }

    /// Reads a mark from a slot; nil if the slot is empty or torn.
    init?(_ slot: ArraySlice<UInt8>) {
        guard let words = CheckedLine.words(of: slot), words.count == 5, words[0] == "mark",
            let generation = UInt64(words[1]), let rollback = UInt64(words[2]),
            let received = IntervalSet(word: words[4])
        else { return nil }
        self.init(generation: generation, rollback: rollback, session: String(words[3]), received: received)
    }
}
