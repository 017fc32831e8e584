internal import Foundation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Tests with hidden files that something else changed: they are not trusted, and no other file is touched.
@Suite("Tampered files", .endsWhenHung)
struct TamperingTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    @Test(arguments: tamperings)
    func `rules 39 to 41: tampered files are detected, and the download can restart`(tampering: Tampering) throws {
        let victim = "\(directory.path)/victim"
        try directory.put(SampleObject.second.bytes(), at: victim)
        try leave()
        try tampering.apply(directory)
        let partial = try PartialStore().open(directory.location)
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
        #expect(directory.bytes(at: victim) == SampleObject.second.bytes(), "the target of a link was changed")
        #expect(try directory.contents.allSatisfy { !$0.hasPrefix(".") })
    }

    @Test(arguments: [0, 1], ["another machine's run", "another generation"])
    func `a mark of another boot or generation is ignored`(slot: Int, from: String) throws {
        try leave()
        let information = try POSIXFileSystem().information(at: directory.partialPath)
        let device = try #require(information).device
        let session = try #require(PartialStore().session(device: device, .disk))
        let isForeign = from == "another machine's run"
        let line = try #require(
            CheckpointMark(
                generation: isForeign ? 1 : 2, session: isForeign ? "x" + session : session,
                received: IntervalSet(0..<299)
            ).encoded())
        var bytes = try #require(directory.bytes(at: directory.names.checkpoint))
        let offset = 2 * Checkpoint.blockSize + slot * CheckpointMark.slotSize
        bytes.replaceSubrange(offset..<offset + line.count, with: line)
        try directory.overwrite(bytes, at: directory.names.checkpoint)
        #expect(
            try PartialStore().open(directory.location).finding
                == .bytes(SampleObject.first.representation, IntervalSet(0..<300)))
    }

    @Test func `rule 38: a mark beyond the length is ignored`() throws {
        try leave()
        let handle = try #require(FileHandle(forWritingAtPath: directory.partialPath))
        try handle.truncate(atOffset: 5000)
        try handle.close()
        let information = try #require(try POSIXFileSystem().information(at: directory.partialPath))
        let session = try #require(PartialStore().session(device: information.device, .disk))
        let mark = CheckpointMark(generation: 1, session: session, received: IntervalSet(0..<2000))
        var bytes = try #require(directory.bytes(at: directory.names.checkpoint))
        let line = try #require(mark.encoded())
        bytes.replaceSubrange(2 * Checkpoint.blockSize..<2 * Checkpoint.blockSize + line.count, with: line)
        try directory.overwrite(bytes, at: directory.names.checkpoint)
        #expect(
            try PartialStore().open(directory.location).finding
                == .bytes(SampleObject.first.representation, IntervalSet(0..<300)))
    }

    @Test(arguments: [".checkpoint", ".lock"])
    func `a directory in place of a hidden file costs the checkpoint but does not prevent a download`(
        suffix: String
    ) throws {
        let path = "\(directory.path)/\(directory.names.stem)\(suffix)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        let partial = try PartialStore().open(directory.location)
        try partial.begin(SampleObject.first.representation)
        try partial.finish(.first, IntervalSet(), at: directory.destination)
        #expect(directory.bytes(at: directory.destination) == SampleObject.first.bytes())
        #expect(try directory.contents == [(path as NSString).lastPathComponent, "file.zip"])
    }

    @Test func `rule 40: bytes that were saved for another checksum are discarded`() throws {
        let store = PartialStore()
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

    @Test func `a symbolic link in place of the lock file is not followed and does not prevent a download`() throws {
        let victim = "\(directory.path)/victim"
        try directory.link(directory.names.lock, to: victim)
        let partial = try PartialStore().open(directory.location)
        try partial.begin(SampleObject.first.representation)
        try partial.finish(.first, IntervalSet(), at: directory.destination)
        #expect(directory.bytes(at: directory.destination) == SampleObject.first.bytes())
        #expect(!FileManager.default.fileExists(atPath: victim))
    }

    private func leave() throws {
        let partial = try PartialStore().open(directory.location)
        try partial.begin(SampleObject.first.representation)
        try partial.write(.first, 0..<300)
        try partial.save(IntervalSet(0..<300))
        partial.close()
    }
}
