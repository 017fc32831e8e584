private import struct Foundation.Data
private import class Foundation.JSONDecoder
private import class Foundation.JSONEncoder

/// The content of a checkpoint file, which describes a partial file.
///
/// The file starts with one line, which `head -1` prints:
///
///     {"format":2,"crc32":"0123abcd","record":{…}}
///
/// The CRC-32 covers the exact bytes of the record. The line is padded to a multiple of 4096 bytes. A block for a
/// ``CheckpointRollback`` and a block for marks (``CheckpointMark``) follow, so that each part is rewritten without
/// touching a sector of another one. The documentation's article "The files of an unfinished download" describes the
/// format.
struct Checkpoint: Sendable, Hashable {
    /// The number of the checkpoint among all checkpoints of a partial file; marks and rollbacks refer to it.
    var generation: UInt64
    /// The location's ``PartialLocation/baseName``, which the file's name may contain only in part.
    var baseName: String
    /// The request of the partial file.
    var request: RequestRecord
    /// The representation of the bytes.
    var representation: Representation
    /// The received intervals.
    var received: IntervalSet
    /// The token in the partial file's name.
    var token: String
    /// The inode number of the partial file, so that no other file is mistaken for it.
    var inode: UInt64
    /// The session in which bytes that were not synced are known to exist; nil if the bytes were synced.
    var session: String?
    /// The name that the finished file is about to get in its directory, if the request did not give one.
    var chosenName: String?
}

extension Checkpoint {
    /// The reasons why a checkpoint file cannot be used.
    enum Unreadable: Error, Hashable {
        case corrupt
        case otherVersion
    }

    /// The size of the blocks that a file system replaces atomically, or a multiple of it.
    static let blockSize = 4096

    /// The empty rollback block and mark block that follow a new record.
    static let emptyBlocks = [UInt8](repeating: 0, count: 2 * blockSize)

    /// The highest accepted number of a checkpoint or rollback, chosen so that counting cannot overflow.
    static let maximumCount: UInt64 = 1 << 62

    /// The size of the largest file that is read; checkpoints are far smaller.
    static let maximumSize = 16 << 20

    /// The version of the format, incremented with every incompatible change of the files' names or contents.
    static let format = 2

    /// Returns the bytes of the line and its padding; the rollback block and the mark block follow it.
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

    /// Decodes the record; `end` is the offset of the rollback block.
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
    /// Whether the store could have written this content.
    ///
    /// A valid CRC-32 is not sufficient, because a process that edits the record can recompute it.
    private var isSound: Bool {
        let length = representation.length ?? FieldScanner.maximumNumber
        guard received.upperBound <= length, length <= FieldScanner.maximumNumber, generation <= Self.maximumCount
        else {
            return false
        }
        guard request.headers.allSatisfy({ $0.count == 2 && HeaderFields.mayBeRecorded($0[0], $0[1]) }) else {
            return false
        }
        return [representation.suggestedName, chosenName].compactMap(\.self).allSatisfy { FileName.sanitized($0) == $0 }
    }
}

extension ArraySlice<UInt8> {
    /// Removes `prefix` if the slice starts with it, and returns whether it did.
    fileprivate mutating func removePrefix(_ prefix: StaticString) -> Bool {
        let expected = UnsafeBufferPointer(start: prefix.utf8Start, count: prefix.utf8CodeUnitCount)
        guard starts(with: expected) else { return false }
        self = dropFirst(expected.count)
        return true
    }
}
