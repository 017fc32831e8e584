/// Takes back a part of what a checkpoint claims.
///
/// One line in a block of its own behind the record, written in place, which needs no free space. The block has two slots,
/// written in turn, so that a write which is torn leaves the rollback before it:
///
///     rollback GENERATION NUMBER 0-1048576 CRC32
///
/// It counts behind the checkpoint of its generation only. The marks of before do not count any more: they name the number
/// of an earlier rollback, or 0.
struct CheckpointRollback: Sendable, Hashable {
    /// The checkpoint's ``Checkpoint/generation``.
    var generation: UInt64
    /// Counts the rollbacks of one checkpoint, from 1.
    var number: UInt64
    /// What the checkpoint claims from now on; `-` in the line where it is nothing.
    var received: IntervalSet
}

extension CheckpointRollback {
    private static let slotSize = Checkpoint.blockSize / 2

    /// Where in the block its slot begins.
    var slotOffset: Int { Int(number % 2) * Self.slotSize }

    /// The last rollback in `block` that counts behind the checkpoint of `generation`.
    static func last(in block: ArraySlice<UInt8>, behind generation: UInt64) -> CheckpointRollback? {
        [block.prefix(slotSize), block.dropFirst(slotSize)].compactMap { CheckpointRollback($0) }
            .filter { $0.generation == generation }.max { $0.number < $1.number }
    }

    /// The bytes to write; nil where the ranges are too many for a slot.
    func encoded() -> [UInt8]? {
        guard let ranges = received.word(limit: Self.slotSize) else { return nil }
        return CheckedLine.encoded(["rollback", "\(generation)", "\(number)", ranges], limit: Self.slotSize)
    }

    /// Reads a slot; nil where there is no rollback, or a torn one.
    init?(_ slot: ArraySlice<UInt8>) {
        guard let words = CheckedLine.words(of: slot), words.count == 4, words[0] == "rollback",
            let generation = UInt64(words[1]), let number = UInt64(words[2]), 1...Checkpoint.maximumCount ~= number,
            let received = IntervalSet(word: words[3])
        else { return nil }
        self.init(generation: generation, number: number, received: received)
    }
}
