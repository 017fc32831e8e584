internal import Foundation
internal import Testing

@testable import AsyncDownloads

/// The kinds of damage to the files: another case is another row.
extension TamperingTests {
    /// A change of the files of a process that saved 300 bytes.
    struct Tampering: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var finding: PartialFinding
        let apply: @Sendable (TemporaryDirectory) throws -> Void
    }

    static let tamperings: [Tampering] = [
        Tampering(testDescription: "truncated checkpoint", finding: .unusable(.checkpointCorrupt, discarded: 300)) {
            let bytes = try #require($0.bytes(at: $0.names.checkpoint))
            try $0.put(bytes.prefix(200), at: $0.names.checkpoint)
        },
        Tampering(testDescription: "empty checkpoint", finding: .unusable(.checkpointCorrupt, discarded: 300)) {
            try $0.put([], at: $0.names.checkpoint)
        },
        Tampering(testDescription: "zero-filled checkpoint", finding: .unusable(.checkpointCorrupt, discarded: 300)) {
            try $0.put([UInt8](repeating: 0, count: 8192), at: $0.names.checkpoint)
        },
        Tampering(testDescription: "replaced checkpoint", finding: .unusable(.checkpointCorrupt, discarded: 300)) {
            try $0.put("{}\n".utf8, at: $0.names.checkpoint)
        },
        Tampering(
            testDescription: "checkpoint of another version", finding: .unusable(.checkpointVersion, discarded: 300)
        ) {
            try $0.edit(#"{"format":2,"#, #"{"format":1,"#)
        },
        Tampering(testDescription: "another CRC-32", finding: .unusable(.checkpointCorrupt, discarded: 300)) {
            try $0.edit(#""crc32":""#, #""crc32":"x"#)
        },
        Tampering(
            testDescription: "larger claim with a wrong CRC-32", finding: .unusable(.checkpointCorrupt, discarded: 300)
        ) {
            try $0.edit("[[0,300]]", "[[0,900]]")
        },
        Tampering(testDescription: "another URL", finding: .unusable(.checkpointMismatch, discarded: 300)) {
            try $0.rewrite { $0.request.url = "https://example.org/file.zip" }
        },
        Tampering(testDescription: "other headers", finding: .unusable(.checkpointMismatch, discarded: 300)) {
            try $0.rewrite { $0.request.headers = [] }
        },
        Tampering(testDescription: "claim beyond the length", finding: .unusable(.checkpointCorrupt, discarded: 300)) {
            try $0.rewrite { $0.received = IntervalSet(0..<2000) }
        },
        Tampering(testDescription: "impossible length", finding: .unusable(.checkpointCorrupt, discarded: 300)) {
            try $0.rewrite { $0.representation.length = .max }
        },
        Tampering(
            testDescription: "name that leaves the directory", finding: .unusable(.checkpointCorrupt, discarded: 300)
        ) {
            try $0.rewrite { $0.representation.suggestedName = "../victim" }
        },
        Tampering(
            testDescription: "larger claim with a valid CRC-32",
            finding: .unusable(.partialTruncated, discarded: 900)
        ) {
            try $0.rewrite { $0.received = IntervalSet(0..<900) }
        },
        Tampering(
            testDescription: "impossible claim without a length",
            finding: .unusable(.checkpointCorrupt, discarded: 300)
        ) {
            try $0.rewrite { ($0.received, $0.representation.length) = (IntervalSet(0..<Int64.max), nil) }
        },
        Tampering(
            testDescription: "range that ends before it starts",
            finding: .unusable(.checkpointCorrupt, discarded: 300)
        ) {
            try $0.editRecord("[[0,300]]", "[[300,0]]")
        },
        Tampering(testDescription: "overlapping ranges", finding: .unusable(.checkpointCorrupt, discarded: 300)) {
            try $0.editRecord("[[0,300]]", "[[0,200],[100,300]]")
        },
        Tampering(testDescription: "negative range", finding: .unusable(.checkpointCorrupt, discarded: 300)) {
            try $0.editRecord("[[0,300]]", "[[-300,0]]")
        },
        Tampering(testDescription: "number that overflows", finding: .unusable(.checkpointCorrupt, discarded: 300)) {
            try $0.editRecord("[[0,300]]", "[[0,300000000000000000000]]")
        },
        Tampering(
            testDescription: "generation that cannot be incremented",
            finding: .unusable(.checkpointCorrupt, discarded: 300)
        ) {
            try $0.rewrite { $0.generation = .max }
        },
        Tampering(testDescription: "another base name", finding: .unusable(.checkpointMismatch, discarded: 300)) {
            try $0.rewrite { $0.baseName = "other.zip" }
        },
        Tampering(testDescription: "token that is a path", finding: .unusable(.partialMissing, discarded: 300)) {
            try $0.rewrite { $0.token = "../victim" }
        },
        Tampering(
            testDescription: "bytes of another boot", finding: .unusable(.partialMissing, discarded: 300)
        ) {
            try $0.rewrite { $0.session = "another/1" }
        },
        Tampering(
            testDescription: "checkpoint beyond the maximum size",
            finding: .unusable(.checkpointCorrupt, discarded: 300)
        ) {
            let handle = try #require(FileHandle(forWritingAtPath: $0.names.checkpoint))
            try handle.truncate(atOffset: UInt64(Checkpoint.maximumSize) + 1)
            try handle.close()
        },
        Tampering(
            testDescription: "pipe in place of the checkpoint", finding: .unusable(.checkpointCorrupt, discarded: 300)
        ) {
            try FileManager.default.removeItem(atPath: $0.names.checkpoint)
            #expect(mkfifo($0.names.checkpoint, 0o600) == 0)
        },
        Tampering(
            testDescription: "pipe in place of the partial file", finding: .unusable(.partialMissing, discarded: 300)
        ) {
            let path = try $0.partialPath
            try FileManager.default.removeItem(atPath: path)
            #expect(mkfifo(path, 0o600) == 0)
        },
        Tampering(testDescription: "another inode number", finding: .unusable(.partialMissing, discarded: 300)) {
            try $0.rewrite { $0.inode += 1 }
        },
        Tampering(testDescription: "missing partial file", finding: .unusable(.partialMissing, discarded: 300)) {
            try FileManager.default.removeItem(atPath: $0.partialPath)
        },
        Tampering(testDescription: "copied partial file", finding: .unusable(.partialMissing, discarded: 300)) {
            let path = try $0.partialPath
            try FileManager.default.copyItem(atPath: path, toPath: path + ".copy")
            try FileManager.default.removeItem(atPath: path)
            try FileManager.default.moveItem(atPath: path + ".copy", toPath: path)
        },
        Tampering(testDescription: "truncated partial file", finding: .unusable(.partialTruncated, discarded: 300)) {
            let handle = try #require(FileHandle(forWritingAtPath: $0.partialPath))
            try handle.truncate(atOffset: 299)
            try handle.close()
        },
        Tampering(
            testDescription: "extended partial file (rule 41)",
            finding: .bytes(SampleObject.first.representation, IntervalSet(0..<300))
        ) {
            let handle = try #require(FileHandle(forWritingAtPath: $0.partialPath))
            try handle.truncate(atOffset: 5000)
            try handle.close()
        },
        Tampering(
            testDescription: "partial file with a second name", finding: .unusable(.partialMissing, discarded: 300)
        ) {
            try FileManager.default.linkItem(atPath: $0.partialPath, toPath: "\($0.path)/other")
        },
        Tampering(
            testDescription: "checkpoint with a second name", finding: .unusable(.checkpointCorrupt, discarded: 300)
        ) {
            try FileManager.default.linkItem(atPath: $0.names.checkpoint, toPath: "\($0.path)/other")
        },
        Tampering(
            testDescription: "symbolic link in place of the partial file",
            finding: .unusable(.partialMissing, discarded: 300)
        ) {
            try $0.replaceByLink($0.partialPath)
        },
        Tampering(
            testDescription: "symbolic link in place of the checkpoint",
            finding: .unusable(.checkpointCorrupt, discarded: 300)
        ) {
            try $0.replaceByLink($0.names.checkpoint)
        },
    ]
}

extension TemporaryDirectory {
    /// Replaces text in the checkpoint's first block, as an editor would.
    fileprivate func edit(_ text: String, _ other: String) throws {
        let checkpoint = String(decoding: try #require(bytes(at: names.checkpoint)), as: UTF8.self)
        #expect(checkpoint.contains(text))
        try overwrite(Array(checkpoint.replacingOccurrences(of: text, with: other).utf8), at: names.checkpoint)
    }

    /// Replaces text in the record, and updates the CRC-32.
    fileprivate func editRecord(_ text: String, _ other: String) throws {
        let block = String(decoding: try #require(bytes(at: names.checkpoint)), as: UTF8.self)
        let line = try #require(block.split(separator: "\n").first)
        let start = try #require(line.range(of: #""record":"#)).upperBound
        let record = line[start...].dropLast()
        #expect(record.contains(text))
        let edited = record.replacingOccurrences(of: text, with: other)
        let check = CRC32.digits(of: edited.utf8)
        try overwrite(Array(#"{"format":2,"crc32":"\#(check)","record":\#(edited)}\#n"#.utf8), at: names.checkpoint)
    }

    /// Changes the checkpoint, and updates the CRC-32.
    fileprivate func rewrite(_ change: (inout Checkpoint) -> Void) throws {
        var checkpoint = try Checkpoint.decode(try #require(bytes(at: names.checkpoint))).checkpoint
        change(&checkpoint)
        // The record may contain impossible values, which a decoder refuses but an encoder does not.
        try overwrite(checkpoint.encoded(), at: names.checkpoint)
    }

    /// Moves the file elsewhere and replaces it by a symbolic link.
    fileprivate func replaceByLink(_ path: String) throws {
        try FileManager.default.moveItem(atPath: path, toPath: "\(self.path)/moved")
        try link(path, to: "\(self.path)/moved")
    }

    /// Changes the bytes of a file but not its inode number.
    func overwrite(_ bytes: [UInt8], at path: String) throws {
        let handle = try #require(FileHandle(forWritingAtPath: path))
        try handle.truncate(atOffset: 0)
        try handle.write(contentsOf: Data(bytes))
        try handle.close()
    }
}
