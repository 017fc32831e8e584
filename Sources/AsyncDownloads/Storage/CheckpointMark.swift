/// What has been written since the checkpoint, for a process that dies while the machine lives on.
///
/// One line, written by one call and never synced:
///
///     mark GENERATION SESSION 0-1048576,2097152-3145728 CRC32
///
/// A block of its own behind the checkpoint has two slots for marks. They are written in turn, so that a write which
/// is torn leaves the mark before it.
///
/// The bytes that it speaks of may be in the system's memory only. So it counts only in the session in which it was
/// written, when that memory is still there, and only behind the checkpoint that it goes on from.
struct CheckpointMark: Sendable, Hashable {
    /// The checkpoint's ``Checkpoint/generation``.
    var generation: UInt64
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

    /// The bytes to write, or nil where the ranges are too many for a slot.
    func encoded() -> [UInt8]? {
        var line = [UInt8]()
        line.reserveCapacity(160)
        line += "mark \(generation) \(session) ".utf8
        for (index, range) in received.ranges.enumerated() where line.count < Self.slotSize {
            line += "\(index == 0 ? "" : ",")\(range.lowerBound)-\(range.upperBound)".utf8
        }
        line += " \(CRC32.digits(of: line))\n".utf8
        return line.count <= Self.slotSize ? line : nil
    }

    /// Reads a slot; nil where there is no mark, or a torn one.
    init?(_ slot: ArraySlice<UInt8>) {
        guard let end = slot.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
        let line = slot[..<end]
        guard line.count > 9, line.dropLast(8).last == UInt8(ascii: " "),
            CRC32.digits(of: line.dropLast(9)) == String(decoding: line.suffix(8), as: UTF8.self)
        else { return nil }
        let words = String(decoding: line, as: UTF8.self).split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 5, words[0] == "mark", let generation = UInt64(words[1]) else { return nil }
        self.generation = generation
        self.session = String(words[2])
        self.received = IntervalSet()
        for range in words[3].split(separator: ",") {
            let bounds = range.split(separator: "-").compactMap { Int64($0) }
            guard bounds.count == 2, bounds[0] < bounds[1] else { return nil }
            received.insert(bounds[0]..<bounds[1])
        }
    }
}
