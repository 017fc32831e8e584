internal import Foundation

@testable import AsyncDownloads

/// The properties of records on disk: a record that can be read is within its limits and can be written unchanged.
extension Property {
    /// Checks the bytes as the first block of a checkpoint file.
    static func checkpoint(_ bytes: [UInt8]) throws {
        guard let (checkpoint, rollbackOffset) = try? Checkpoint.decode(bytes) else { return }
        try demand(
            rollbackOffset > 0 && rollbackOffset % Checkpoint.blockSize == 0,
            "a rollback block that doesn't begin at the end of a block")
        try demandSound(checkpoint)
    }

    /// Checks the bytes as the record in a line with a correct checksum.
    static func checkpointRecord(_ bytes: [UInt8]) throws {
        try checkpoint(block(of: bytes[...]))
    }

    /// Returns the first block of a checkpoint file, with a correct checksum, but without padding.
    static func block(of record: ArraySlice<UInt8>) -> [UInt8] {
        let check = CRC32.digits(of: record)
        return Array(#"{"format":2,"crc32":"\#(check)","record":"#.utf8) + record + Array("}\n".utf8)
    }

    /// The file system, which is created once, because each initialization reads properties of the process.
    private static let disk = POSIXFileSystem()

    private static func line(of mark: ArraySlice<UInt8>) -> [UInt8] {
        mark + Array(" \(CRC32.digits(of: mark))\n".utf8)
    }

    /// Checks the bytes as the slot of a mark, unchanged and with a correct checksum.
    static func checkpointMark(_ bytes: [UInt8]) throws {
        for slot in [bytes, line(of: bytes.prefix { $0 != UInt8(ascii: "\n") })] {
            guard let mark = CheckpointMark(slot[...]) else { continue }
            try demandSound(mark.received)
            guard let encoded = mark.encoded() else { continue }
            try demand(encoded.count <= CheckpointMark.slotSize, "longer than a slot")
            try demand(CheckpointMark(encoded[...]) == mark, "a different mark after reading back")
        }
    }

    /// Checks the bytes as a checkpoint file: each line is a record or a mark, to which a correct checksum is added.
    static func checkpointFile(_ bytes: [UInt8]) throws {
        let lines = bytes.split(separator: UInt8(ascii: "\n"))
        var contents = block(of: lines.first ?? [])
        contents += repeatElement(UInt8(ascii: " "), count: -contents.count & (Checkpoint.blockSize - 1))
        // Two slots for rollbacks and two for marks, all of the same size.
        for words in lines.dropFirst().prefix(2 * CheckpointMark.slotCount) {
            let slot = line(of: words).prefix(CheckpointMark.slotSize)
            contents += slot + repeatElement(0, count: CheckpointMark.slotSize - slot.count)
        }
        let disk = disk
        let path = FileManager.default.temporaryDirectory.appending(path: "async-downloads-\(UUID())").path
        let scratch = try disk.open(path, .new)
        defer {
            disk.close(scratch)
            try? disk.remove(path)
        }
        try disk.write(contents, to: scratch, at: 0)
        let owner = FileOwner(disk: disk, directory: PartialNames.directory(of: path))
        guard case .success(let file)? = try CheckpointFile.read(path, on: disk, ownedBy: owner) else { return }
        defer { disk.close(file.handle) }
        try demandSound(file.checkpoint)
        try demand(
            file.received.upperBound <= file.checkpoint.received.upperBound, "a rollback that claims more")
        var information = try disk.information(of: file.handle)
        information.size = 1000
        let sessions = Set(file.marks.map(\.mark.session))
        for session in sessions {
            guard let (slot, mark) = file.mark(of: information, session: session) else { continue }
            try demand(0..<CheckpointMark.slotCount ~= slot, "a slot that does not exist")
            try demand(mark.generation == file.checkpoint.generation, "a mark of another checkpoint")
            try demand(mark.rollback == file.rollback?.number ?? 0, "a mark from before a rollback")
            try demand(mark.received.upperBound <= 1000, "more bytes than the file contains")
        }
    }

    private static func demandSound(_ checkpoint: Checkpoint) throws {
        try demandSound(checkpoint.received)
        let length = checkpoint.representation.length
        try demand(
            checkpoint.received.upperBound <= length ?? FieldScanner.maximumNumber,
            "more bytes than the representation has")
        try demand(0...FieldScanner.maximumNumber ~= length ?? 0, "a length out of bounds")
        if let name = checkpoint.representation.suggestedName {
            try demand(FileName.sanitized(name) == name, "a name that is not sanitized")
        }
        try demand(
            try Checkpoint.decode(checkpoint.encoded()).checkpoint == checkpoint,
            "a different checkpoint after reading back")
        // The values that a resumption derives from the checkpoint.
        _ = PartialNames(
            PartialLocation(directory: "/d", baseName: checkpoint.baseName, request: checkpoint.request), user: 1)
        let requested = RequestedRange.continuing(
            at: checkpoint.received.prefixEnd, validator: checkpoint.representation.validator, window: nil)
        try demand(requested.fields.firstInvalidField() == nil, "a request that cannot be sent")
        try demand(requested.range != nil || requested.condition == .none, "a condition without a range")
    }

    private static func demandSound(_ received: IntervalSet) throws {
        var end: Int64 = -1
        for range in received.ranges {
            try demand(end < range.lowerBound && range.lowerBound < range.upperBound, "ranges that are not ascending")
            end = range.upperBound
        }
        try demand(received.prefixEnd <= received.upperBound, "a prefix beyond the end")
    }
}
