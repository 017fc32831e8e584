internal import Foundation

@testable import AsyncDownloads

/// What is read back from disk: either nothing, or something that keeps its own limits and says the same when written.
extension Property {
    /// The bytes are a file's first block.
    static func checkpoint(_ bytes: [UInt8]) throws {
        guard let (checkpoint, markOffset) = try? Checkpoint.decode(bytes) else { return }
        try demand(markOffset > 0 && markOffset % Checkpoint.blockSize == 0, "marks in the checkpoint's own block")
        try demandSound(checkpoint)
    }

    /// The bytes are the record inside of a line that is right, check and all.
    static func checkpointRecord(_ bytes: [UInt8]) throws {
        try checkpoint(block(of: bytes[...]))
    }

    private static func block(of record: ArraySlice<UInt8>) -> [UInt8] {
        let check = CRC32.digits(of: record)
        return Array(#"{"format":2,"crc32":"\#(check)","record":"#.utf8) + record + Array("}\n".utf8)
    }

    private static func line(of mark: ArraySlice<UInt8>) -> [UInt8] {
        mark + Array(" \(CRC32.digits(of: mark))\n".utf8)
    }

    /// The bytes are a mark's slot, as they are and with a check that is right.
    static func checkpointMark(_ bytes: [UInt8]) throws {
        for slot in [bytes, line(of: bytes.prefix { $0 != UInt8(ascii: "\n") })] {
            guard let mark = CheckpointMark(slot[...]) else { continue }
            try demandSound(mark.received)
            guard let encoded = mark.encoded() else { continue }
            try demand(encoded.count <= CheckpointMark.slotSize, "longer than a slot")
            try demand(CheckpointMark(encoded[...]) == mark, "another mark when it is read back")
        }
    }

    /// The bytes are the record and the marks of a file on the disk, a line each; the checks are right.
    static func checkpointFile(_ bytes: [UInt8]) throws {
        let lines = bytes.split(separator: UInt8(ascii: "\n"))
        var contents = block(of: lines.first ?? [])
        contents += repeatElement(UInt8(ascii: " "), count: -contents.count & (Checkpoint.blockSize - 1))
        // Two slots of rollbacks and two of marks, all of one size.
        for words in lines.dropFirst().prefix(2 * CheckpointMark.slotCount) {
            let slot = line(of: words).prefix(CheckpointMark.slotSize)
            contents += slot + repeatElement(0, count: CheckpointMark.slotSize - slot.count)
        }
        let disk = POSIXFileSystem()
        let path = try ScratchFile.path(holding: contents)
        guard
            case .success(let file)? = try CheckpointFile.read(
                path, on: disk, ownedBy: FileOwner(disk: disk, directory: "/tmp"))
        else { return }
        defer { disk.close(file.handle) }
        try demandSound(file.checkpoint)
        try demand(
            file.received.upperBound <= file.checkpoint.received.upperBound, "a rollback that claims more")
        var information = try disk.information(of: file.handle)
        information.size = 1000
        let sessions = Set(file.marks.map(\.mark.session))
        for session in sessions {
            guard let (slot, mark) = file.mark(of: information, session: session) else { continue }
            try demand(0..<CheckpointMark.slotCount ~= slot, "a slot that is not there")
            try demand(mark.generation == file.checkpoint.generation, "a mark of another checkpoint")
            try demand(mark.rollback == file.rollback?.number ?? 0, "a mark of before a rollback")
            try demand(mark.received.upperBound <= 1000, "more than the file has")
        }
    }

    private static func demandSound(_ checkpoint: Checkpoint) throws {
        try demandSound(checkpoint.received)
        let length = checkpoint.representation.length
        try demand(checkpoint.received.upperBound <= length ?? FieldScanner.maximumNumber, "more than there is")
        try demand(0...FieldScanner.maximumNumber ~= length ?? 0, "a length out of bounds")
        if let name = checkpoint.representation.suggestedName {
            try demand(FileName.sanitised(name) == name, "a name that is not harmless")
        }
        try demand(try Checkpoint.decode(checkpoint.encoded()).checkpoint == checkpoint, "another when it is read back")
        // What is made of it when it is continued.
        _ = PartialNames(
            PartialLocation(directory: "/d", baseName: checkpoint.baseName, request: checkpoint.request), user: 1)
        let asked = RequestedRange.continuing(
            at: checkpoint.received.prefixEnd, validator: checkpoint.representation.validator, window: nil)
        try demand(asked.fields.firstInvalidField() == nil, "a request that cannot be sent")
        try demand(asked.range != nil || asked.condition == .none, "a condition without a range")
    }

    private static func demandSound(_ received: IntervalSet) throws {
        var end: Int64 = -1
        for range in received.ranges {
            try demand(end < range.lowerBound && range.lowerBound < range.upperBound, "ranges that do not ascend")
            end = range.upperBound
        }
        try demand(received.prefixEnd <= received.upperBound, "a beginning behind the end")
    }
}

/// One file of this process's own, written anew for each input.
private enum ScratchFile {
    private static let file: Result<(handle: OpenFile, path: String), any Error> = Result {
        let path = FileManager.default.temporaryDirectory.appending(path: "async-downloads-\(UUID())").path
        return (try POSIXFileSystem().open(path, .new), path)
    }

    static func path(holding bytes: [UInt8]) throws -> String {
        let (handle, path) = try file.get()
        try POSIXFileSystem().truncate(handle, to: 0)
        try POSIXFileSystem().write(bytes, to: handle, at: 0)
        return path
    }
}
