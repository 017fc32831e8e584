/// A record that reduces the claims of a checkpoint.
///
/// A rollback is one line in the block after the record, written in place, which needs no free space. The block has two
/// slots, written alternately, so that a torn write does not destroy the previous rollback:
///
///     rollback GENERATION NUMBER 0-1048576 CRC32
///
/// A rollback applies only to the checkpoint of its generation. It invalidates all earlier marks, because they name an
/// earlier rollback or 0.
struct CheckpointRollback: Sendable, Hashable {
    /// The checkpoint's ``Checkpoint/generation``.
    var generation: UInt64
    /// The number of the rollback among all rollbacks of a checkpoint, counted from 1.
    var number: UInt64
    /// The intervals that the checkpoint still claims.
    ///
    /// For an empty set, the line contains `-`.
    var received: IntervalSet
}

extension CheckpointRollback {
    private static let slotSize = Checkpoint.blockSize / 2

    /// The offset of the rollback's slot in the block.
    var slotOffset: Int { Int(number % 2) * Self.slotSize }

    /// Returns the last rollback in `block` that belongs to the checkpoint of `generation`.
    static func last(in block: ArraySlice<UInt8>, behind generation: UInt64) -> CheckpointRollback? {
        [block.prefix(slotSize), block.dropFirst(slotSize)].compactMap { CheckpointRollback($0) }
            .filter { $0.generation == generation }.max { $0.number < $1.number }
    }

    /// Returns the bytes to write, or nil if the ranges do not fit in a slot.
    func encoded() -> [UInt8]? {
        guard let ranges = received.word(limit: Self.slotSize) else { return nil }
        return CheckedLine.encoded(["rollback", "\(generation)", "\(number)", ranges], limit: Self.slotSize)
    }

    /// Reads a rollback from a slot; nil if the slot is empty or torn.
    init?(_ slot: ArraySlice<UInt8>) {
        guard let words = CheckedLine.words(of: slot), words.count == 4, words[0] == "rollback",
            let generation = UInt64(words[1]), let number = UInt64(words[2]), 1...Checkpoint.maximumCount ~= number,
            let received = IntervalSet(word: words[3])
        else { return nil }
        self.init(generation: generation, number: number, received: received)
    }
}
