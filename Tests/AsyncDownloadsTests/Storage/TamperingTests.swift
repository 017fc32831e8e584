internal import Foundation
internal import Testing

@testable import AsyncDownloads

/// Files that are not as this package left them: nothing of them is trusted, and nothing else is touched.
@Suite("Tampered files", .timeLimit(.minutes(15)))
struct TamperingTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    /// A change to what a process left that saved 300 bytes.
    struct Tampering: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var finding: PartialFinding
        let apply: @Sendable (TemporaryDirectory) throws -> Void
    }

    static let tamperings: [Tampering] = [
        Tampering(testDescription: "checkpoint cut short", finding: .unusable(.checkpointCorrupt, discarded: 300)) {
            let bytes = try #require($0.bytes(at: $0.names.checkpoint))
            try $0.put(bytes.prefix(200), at: $0.names.checkpoint)
        },
        Tampering(testDescription: "checkpoint empty", finding: .unusable(.checkpointCorrupt, discarded: 300)) {
            try $0.put([], at: $0.names.checkpoint)
        },
        Tampering(testDescription: "checkpoint zero-filled", finding: .unusable(.checkpointCorrupt, discarded: 300)) {
            try $0.put([UInt8](repeating: 0, count: 8192), at: $0.names.checkpoint)
        },
        Tampering(testDescription: "checkpoint replaced", finding: .unusable(.checkpointCorrupt, discarded: 300)) {
            try $0.put("{}\n".utf8, at: $0.names.checkpoint)
        },
        Tampering(
            testDescription: "checkpoint of another version", finding: .unusable(.checkpointVersion, discarded: 300)
        ) {
            try $0.edit(#"{"format":1,"#, #"{"format":2,"#)
        },
        Tampering(testDescription: "another check", finding: .unusable(.checkpointCorrupt, discarded: 300)) {
            try $0.edit(#""crc32":""#, #""crc32":"x"#)
        },
        Tampering(
            testDescription: "edited to claim more", finding: .unusable(.checkpointCorrupt, discarded: 300)
        ) {
            try $0.edit("[[0,300]]", "[[0,900]]")
        },
        Tampering(testDescription: "another URL", finding: .unusable(.checkpointMismatch, discarded: 300)) {
            try $0.rewrite { $0.request.url = "https://example.org/file.zip" }
        },
        Tampering(testDescription: "other headers", finding: .unusable(.checkpointMismatch, discarded: 300)) {
            try $0.rewrite { $0.request.headers = [] }
        },
        Tampering(testDescription: "more than its length", finding: .unusable(.checkpointCorrupt, discarded: 300)) {
            try $0.rewrite { $0.received = IntervalSet(0..<2000) }
        },
        Tampering(testDescription: "a length beyond all files", finding: .unusable(.checkpointCorrupt, discarded: 300))
        {
            try $0.rewrite { $0.representation.length = .max }
        },
        Tampering(
            testDescription: "a name that leaves the directory", finding: .unusable(.checkpointCorrupt, discarded: 300)
        ) {
            try $0.rewrite { $0.representation.suggestedName = "../victim" }
        },
        Tampering(
            testDescription: "more than is there, with a check that is right",
            finding: .unusable(.partialTruncated, discarded: 900)
        ) {
            try $0.rewrite { $0.received = IntervalSet(0..<900) }
        },
        Tampering(
            testDescription: "more than any disk holds, of no length",
            finding: .unusable(.checkpointCorrupt, discarded: 300)
        ) {
            try $0.rewrite { ($0.received, $0.representation.length) = (IntervalSet(0..<Int64.max), nil) }
        },
        Tampering(
            testDescription: "a range that ends before it begins",
            finding: .unusable(.checkpointCorrupt, discarded: 300)
        ) {
            try $0.editRecord("[[0,300]]", "[[300,0]]")
        },
        Tampering(testDescription: "ranges that overlap", finding: .unusable(.checkpointCorrupt, discarded: 300)) {
            try $0.editRecord("[[0,300]]", "[[0,200],[100,300]]")
        },
        Tampering(testDescription: "a negative range", finding: .unusable(.checkpointCorrupt, discarded: 300)) {
            try $0.editRecord("[[0,300]]", "[[-300,0]]")
        },
        Tampering(testDescription: "a number that is too large", finding: .unusable(.checkpointCorrupt, discarded: 300))
        {
            try $0.editRecord("[[0,300]]", "[[0,300000000000000000000]]")
        },
        Tampering(testDescription: "another file's name", finding: .unusable(.checkpointMismatch, discarded: 300)) {
            try $0.rewrite { $0.baseName = "other.zip" }
        },
        Tampering(testDescription: "a token that is a path", finding: .unusable(.partialMissing, discarded: 300)) {
            try $0.rewrite { $0.token = "../victim" }
        },
        Tampering(
            testDescription: "bytes of another run of the machine", finding: .unusable(.partialMissing, discarded: 300)
        ) {
            try $0.rewrite { $0.session = "another/1" }
        },
        Tampering(
            testDescription: "checkpoint longer than any", finding: .unusable(.checkpointCorrupt, discarded: 300)
        ) {
            let handle = try #require(FileHandle(forWritingAtPath: $0.names.checkpoint))
            try handle.truncate(atOffset: UInt64(Checkpoint.maximumSize) + 1)
            try handle.close()
        },
        Tampering(testDescription: "a pipe for the checkpoint", finding: .unusable(.checkpointCorrupt, discarded: 300))
        {
            try FileManager.default.removeItem(atPath: $0.names.checkpoint)
            #expect(mkfifo($0.names.checkpoint, 0o600) == 0)
        },
        Tampering(testDescription: "a pipe for the partial file", finding: .unusable(.partialMissing, discarded: 300)) {
            let path = try $0.partialPath
            try FileManager.default.removeItem(atPath: path)
            #expect(mkfifo(path, 0o600) == 0)
        },
        Tampering(testDescription: "another number", finding: .unusable(.partialMissing, discarded: 300)) {
            try $0.rewrite { $0.inode += 1 }
        },
        Tampering(testDescription: "no partial file", finding: .unusable(.partialMissing, discarded: 300)) {
            try FileManager.default.removeItem(atPath: $0.partialPath)
        },
        Tampering(testDescription: "partial file copied", finding: .unusable(.partialMissing, discarded: 300)) {
            let path = try $0.partialPath
            try FileManager.default.copyItem(atPath: path, toPath: path + ".copy")
            try FileManager.default.removeItem(atPath: path)
            try FileManager.default.moveItem(atPath: path + ".copy", toPath: path)
        },
        Tampering(testDescription: "partial file shorter", finding: .unusable(.partialTruncated, discarded: 300)) {
            let handle = try #require(FileHandle(forWritingAtPath: $0.partialPath))
            try handle.truncate(atOffset: 299)
            try handle.close()
        },
        Tampering(
            testDescription: "partial file longer (rule 41)",
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
            testDescription: "symbolic link for the partial file",
            finding: .unusable(.partialMissing, discarded: 300)
        ) {
            try $0.replaceByLink($0.partialPath)
        },
        Tampering(
            testDescription: "symbolic link for the checkpoint",
            finding: .unusable(.checkpointCorrupt, discarded: 300)
        ) {
            try $0.replaceByLink($0.names.checkpoint)
        },
    ]

    @Test("are found out, and the download can begin again (rules 39 to 41)", arguments: tamperings)
    func found(tampering: Tampering) throws {
        let victim = "\(directory.path)/victim"
        try directory.put(SampleObject.second.bytes(), at: victim)
        try leave()
        try tampering.apply(directory)
        let partial = try DiskStore().open(directory.site)
        #expect(partial.finding == tampering.finding)
        if case .bytes(_, let received) = tampering.finding {
            try partial.finish(.first, received, at: directory.destination)
            #expect(directory.bytes(at: directory.destination) == SampleObject.first.bytes())
        } else {
            #expect(try directory.contents.filter { $0.hasPrefix(".") } == ["\(directory.names.stem).lock"])
            try partial.begin(SampleObject.second.representation)
            try partial.finish(.second, IntervalSet(), at: directory.destination)
            #expect(directory.bytes(at: directory.destination) == SampleObject.second.bytes())
        }
        #expect(directory.bytes(at: victim) == SampleObject.second.bytes(), "what a link led to was touched")
        #expect(try directory.contents.allSatisfy { !$0.hasPrefix(".") })
    }

    @Test("of the mark make the checkpoint count", arguments: [0, 1], ["another machine's run", "another generation"])
    func mark(slot: Int, from: String) throws {
        try leave()
        let information = try POSIXFileSystem().information(at: directory.partialPath)
        let device = try #require(information).device
        let session = try #require(DiskStore().session(device: device))
        let isForeign = from == "another machine's run"
        let line = try #require(
            CheckpointMark(
                generation: isForeign ? 1 : 2, session: isForeign ? "x" + session : session,
                received: IntervalSet(0..<299)
            ).encoded())
        var bytes = try #require(directory.bytes(at: directory.names.checkpoint))
        let offset = Checkpoint.blockSize + slot * CheckpointMark.slotSize
        bytes.replaceSubrange(offset..<offset + line.count, with: line)
        try directory.overwrite(bytes, at: directory.names.checkpoint)
        #expect(
            try DiskStore().open(directory.site).finding
                == .bytes(SampleObject.first.representation, IntervalSet(0..<300)))
    }

    @Test("of the mark that speak of more than the whole do not count (rule 38)")
    func markBeyondLength() throws {
        try leave()
        let handle = try #require(FileHandle(forWritingAtPath: directory.partialPath))
        try handle.truncate(atOffset: 5000)
        try handle.close()
        let information = try #require(try POSIXFileSystem().information(at: directory.partialPath))
        let session = try #require(DiskStore().session(device: information.device))
        let mark = CheckpointMark(generation: 1, session: session, received: IntervalSet(0..<2000))
        var bytes = try #require(directory.bytes(at: directory.names.checkpoint))
        let line = try #require(mark.encoded())
        bytes.replaceSubrange(Checkpoint.blockSize..<Checkpoint.blockSize + line.count, with: line)
        try directory.overwrite(bytes, at: directory.names.checkpoint)
        #expect(
            try DiskStore().open(directory.site).finding
                == .bytes(SampleObject.first.representation, IntervalSet(0..<300)))
    }

    @Test("in whose place are directories are an error, and nothing is removed", arguments: [".checkpoint", ".lock"])
    func directories(suffix: String) throws {
        let path = "\(directory.path)/\(directory.names.stem)\(suffix)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        let error = #expect(throws: DownloadError.self) { try DiskStore().open(directory.site) }
        // What unlink(2) says of a directory differs.
        #expect(error?.code == .destinationUnusable || error?.code == .permissionDenied)
        #expect(FileManager.default.fileExists(atPath: path))
    }

    @Test("of another checksum make the bytes useless (rule 40)")
    func checksum() throws {
        let store = DiskStore()
        let partial = try store.open(.sample(in: directory.path, checksum: "sha256=aa"))
        try partial.begin(SampleObject.first.representation)
        try partial.write(.first, 0..<300)
        try partial.save(IntervalSet(0..<300))
        partial.close()
        let found = PartialFinding.bytes(SampleObject.first.representation, IntervalSet(0..<300))
        for checksum in ["sha256=aa", nil] {
            let again = try store.open(.sample(in: directory.path, checksum: checksum))
            #expect(again.finding == found)
            again.close()
        }
        let other = try store.open(.sample(in: directory.path, checksum: "sha256=bb"))
        #expect(other.finding == .unusable(.checksumMismatch, discarded: 300))
    }

    @Test("at the lock's name are refused")
    func lockLink() throws {
        let victim = "\(directory.path)/victim"
        try directory.link(directory.names.lock, to: victim)
        let error = #expect(throws: DownloadError.self) { try DiskStore().open(directory.site) }
        #expect(error?.code == .destinationUnusable)
        #expect(!FileManager.default.fileExists(atPath: victim))
    }

    private func leave() throws {
        let partial = try DiskStore().open(directory.site)
        try partial.begin(SampleObject.first.representation)
        try partial.write(.first, 0..<300)
        try partial.save(IntervalSet(0..<300))
        partial.close()
    }
}

extension TemporaryDirectory {
    /// Replaces text in the checkpoint's first block, as an editor would.
    fileprivate func edit(_ text: String, _ other: String) throws {
        let checkpoint = String(decoding: try #require(bytes(at: names.checkpoint)), as: UTF8.self)
        #expect(checkpoint.contains(text))
        try overwrite(Array(checkpoint.replacingOccurrences(of: text, with: other).utf8), at: names.checkpoint)
    }

    /// Replaces text in the record, with a check that is right.
    fileprivate func editRecord(_ text: String, _ other: String) throws {
        let block = String(decoding: try #require(bytes(at: names.checkpoint)), as: UTF8.self)
        let line = try #require(block.split(separator: "\n").first)
        let start = try #require(line.range(of: #""record":"#)).upperBound
        let record = line[start...].dropLast()
        #expect(record.contains(text))
        let edited = record.replacingOccurrences(of: text, with: other)
        let check = CRC32.digits(of: edited.utf8)
        try overwrite(Array(#"{"format":1,"crc32":"\#(check)","record":\#(edited)}\#n"#.utf8), at: names.checkpoint)
    }

    /// Rewrites the checkpoint with a check that is right.
    fileprivate func rewrite(_ change: (inout Checkpoint) -> Void) throws {
        var checkpoint = try Checkpoint.decode(try #require(bytes(at: names.checkpoint))).checkpoint
        change(&checkpoint)
        // A decoder refuses more bytes than there are, an encoder does not.
        try overwrite(checkpoint.encoded(), at: names.checkpoint)
    }

    /// Puts a copy of the file elsewhere and a link to it in its place.
    fileprivate func replaceByLink(_ path: String) throws {
        try FileManager.default.moveItem(atPath: path, toPath: "\(self.path)/moved")
        try link(path, to: "\(self.path)/moved")
    }

    /// Changes the bytes of a file that stays the same file.
    fileprivate func overwrite(_ bytes: [UInt8], at path: String) throws {
        let handle = try #require(FileHandle(forWritingAtPath: path))
        try handle.truncate(atOffset: 0)
        try handle.write(contentsOf: Data(bytes))
        try handle.close()
    }
}
