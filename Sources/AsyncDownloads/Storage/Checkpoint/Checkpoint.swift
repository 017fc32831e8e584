private import struct Foundation.Data
private import class Foundation.JSONDecoder
private import class Foundation.JSONEncoder

/// What a checkpoint file says of its partial file.
///
/// The file's first block is one line, which `head -1` shows:
///
///     {"format":2,"crc32":"0123abcd","record":{…}}
///
/// The check covers the record's very bytes. The record is filled up to a multiple of 4096 bytes. Behind it come a block
/// for a ``CheckpointRollback`` and one for marks (``CheckpointMark``), so that each is rewritten without touching a
/// sector of another one. The format is described in the documentation's article "The files of an unfinished download".
struct Checkpoint: Sendable, Hashable {
    /// Counts the checkpoints of one partial file; a mark says which of them it goes on from.
    var generation: UInt64
    /// The site's ``PartialLocation/baseName``, which the file's name may hold a part of only.
    var baseName: String
    /// What was asked for.
    var request: RequestRecord
    /// Whose bytes they are.
    var representation: Representation
    /// The bytes that are there.
    var received: IntervalSet
    /// The token in the partial file's name.
    var token: String
    /// The partial file's number, so that no other file is taken for it.
    var inode: UInt64
    /// Where the bytes were not synced: the one session of the machine in which they are there all the same.
    var session: String?
    /// The name that the finished file is about to get in its directory, where the request did not give it.
    var chosenName: String?
}

extension Checkpoint {
    /// Why a checkpoint file cannot be used.
    enum Unreadable: Error, Hashable {
        case corrupt
        case otherVersion
    }

    /// The size of the blocks that a file system replaces as a whole or not at all, or a multiple of it.
    static let blockSize = 4096

    /// The blocks of the rollback and of the marks, as they follow a new record.
    static let emptyBlocks = [UInt8](repeating: 0, count: 2 * blockSize)

    /// The highest number of a checkpoint or a rollback that is read: counting on from it overflows nothing.
    static let maximumCount: UInt64 = 1 << 62

    /// The longest file that is read; far more than any checkpoint has.
    static let maximumSize = 16 << 20

    /// The number of the format, which every change of the files' names or contents raises.
    static let format = 2

    /// The bytes of the record's blocks, line and padding; the blocks of the rollback and of the marks follow.
    func encoded() throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let record = [UInt8](try encoder.encode(self))
        var block = Array(#"{"format":\#(Self.format),"crc32":"\#(CRC32.digits(of: record))","record":"#.utf8)
        block += record
        block += "}\n".utf8
        let padding = (Self.blockSize - block.count % Self.blockSize) % Self.blockSize
        block += repeatElement(UInt8(ascii: " "), count: padding)
        return block
    }

    /// Reads the record; `end` is where the block of the rollback begins.
    static func decode(_ bytes: [UInt8]) throws(Unreadable) -> (checkpoint: Self, end: Int) {
        guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")) else { throw .corrupt }
        var line = bytes[..<end]
        guard line.removePrefix(#"{"format":"#), let comma = line.firstIndex(of: UInt8(ascii: ",")),
            let version = Int(String(decoding: line[..<comma], as: UTF8.self))
        else { throw .corrupt }
        guard version == format else { throw .otherVersion }
        line = line[comma...]
        guard line.removePrefix(#","crc32":""#), line.count > 8 else { throw .corrupt }
        let check = String(decoding: line.prefix(8), as: UTF8.self)
        line = line.dropFirst(8)
        guard line.removePrefix(#"","record":"#), line.popLast() == UInt8(ascii: "}"),
            CRC32.digits(of: line) == check,
            let checkpoint = try? JSONDecoder().decode(Self.self, from: Data(line)), checkpoint.isSound
        else { throw .corrupt }
        return (checkpoint, (end / blockSize + 1) * blockSize)
    }
}

extension Checkpoint {
    /// Whether what it says can have been written here: whoever edits the record can make the check right as well.
    private var isSound: Bool {
        let length = representation.length ?? FieldScanner.maximumNumber
        guard received.upperBound <= length, length <= FieldScanner.maximumNumber, generation <= Self.maximumCount
        else {
            return false
        }
        guard request.headers.allSatisfy({ $0.count == 2 && HeaderFields.mayBeRecorded($0[0], $0[1]) }) else {
            return false
        }
        return [representation.suggestedName, chosenName].compactMap(\.self).allSatisfy { FileName.sanitised($0) == $0 }
    }
}

extension ArraySlice<UInt8> {
    /// Removes `prefix` where the slice begins with it, and says whether it did.
    fileprivate mutating func removePrefix(_ prefix: StaticString) -> Bool {
        let expected = UnsafeBufferPointer(start: prefix.utf8Start, count: prefix.utf8CodeUnitCount)
        guard starts(with: expected) else { return false }
        self = dropFirst(expected.count)
        return true
    }
}
