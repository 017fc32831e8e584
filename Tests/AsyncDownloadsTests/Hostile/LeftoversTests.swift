internal import Foundation
internal import TestSupport
internal import Testing

@testable internal import AsyncDownloads

/// Tests of the removal of files that remain after a process was killed.
@Suite(.endsWhenHung)
struct LeftoversTests {
    private let directory: TemporaryDirectory
    private let disk = POSIXFileSystem()

    init() throws { directory = try TemporaryDirectory() }

    private static let day: Int64 = 86_400

    @Test func `boundary 12: files of a killed process are removed if the body had no validator`() throws {
        try simulateKill()
        #expect(try directory.contents.count == 2)
        #expect(try clean() == RemovedLeftovers(), "the files are new")
        try age()
        #expect(try clean() == RemovedLeftovers(fileCount: 2, byteCount: 300))
        #expect(try directory.contents.isEmpty)
    }

    @Test func `boundary 12: the next run of the same download removes the files of a killed process`() throws {
        try simulateKill()
        let partial = try PartialStore().open(directory.location)
        #expect(partial.finding == .nothing)
        try partial.begin(SampleObject.first.representation)
        try partial.finish(.first, IntervalSet(), at: directory.destination)
        #expect(try directory.contents == ["file.zip"])
    }

    @Test func `boundary 12: unfinished downloads, other files, and files in use are kept`() throws {
        try PartialStore().leaveUnfinished(at: directory.location)
        let stem = directory.names.stem
        let orphan = "\(stem)-0123456789abcdef-0123456789abcdef.copy"
        let others = [".file.zip.lock", ".hidden.partial", "\(stem)-x-y.partial", "plain", ".a.0123456789abcde.lock"]
        for name in others + [orphan] { try directory.put([1], at: "\(directory.path)/\(name)") }
        try FileManager.default.createDirectory(
            atPath: "\(directory.path)/\(stem)-0123456789abcdef-0123456789abcde0.temp",
            withIntermediateDirectories: false)
        try age()
        let owner = try PartialStore().open(directory.location)
        #expect(try clean() == RemovedLeftovers(), "the partial file is in use")
        owner.close()
        try age()
        #expect(try clean() == RemovedLeftovers(fileCount: 1, byteCount: 1), "other files are kept")
        #expect(try !directory.contents.contains(orphan))
        #expect(try Set(directory.contents).isSuperset(of: others))
        let partial = try PartialStore().open(directory.location)
        #expect(partial.finding == .bytes(SampleObject.first.representation, IntervalSet(0..<300)))
        partial.close()
    }

    @Test func `boundary 12: subdirectories are cleaned on request`() throws {
        let subdirectory = "\(directory.path)/sub"
        try FileManager.default.createDirectory(atPath: subdirectory, withIntermediateDirectories: false)
        try directory.put([1, 2], at: PartialNames(.sample(in: subdirectory)).path(.new(), .partial))
        let later = HTTPDate(secondsSinceEpoch: SystemTimeSource().date.secondsSinceEpoch + Self.day)
        let store = PartialStore()
        #expect(try store.removeLeftovers(in: directory.path, writtenBefore: later) == RemovedLeftovers())
        #expect(
            try store.removeLeftovers(in: directory.path, includingSubdirectories: true, writtenBefore: later)
                == RemovedLeftovers(fileCount: 1, byteCount: 2))
    }

    @Test func `a missing directory has no leftovers`() throws {
        let later = HTTPDate(secondsSinceEpoch: SystemTimeSource().date.secondsSinceEpoch + Self.day)
        let path = "\(directory.path)/missing"
        #expect(try PartialStore().removeLeftovers(in: path, writtenBefore: later) == RemovedLeftovers())
    }

    @Test(arguments: ["", "{\"format\":3,\"crc32\":\"00000000\",\"record\":{}}\n"])
    func `boundary 12: an unreadable checkpoint is removed, and one of another version is kept`(_ text: String) throws {
        try PartialStore().leaveUnfinished(at: directory.location)
        try directory.put(text.utf8, at: directory.names.checkpoint)
        try age()
        let count = text.isEmpty ? 3 : 0
        #expect(try clean().fileCount == count)
        #expect(try directory.contents.count == 3 - count)
    }

    @Test func `boundary 6: a file from which bytes were imported is kept`() throws {
        var imported = SampleObject.first.representation
        imported.isImported = true
        let partial = try PartialStore().open(directory.location)
        try partial.begin(imported)
        try partial.write(.first, 0..<300)
        try partial.save(IntervalSet(0..<300))
        partial.close()
        let source = directory.names.path(.new(), .partial)
        try directory.put([1], at: source)
        try PartialStore().open(directory.location).close()
        #expect(directory.bytes(at: source) == [1])
    }

    /// Creates the files of a killed process: 300 bytes and, because they have no validator, no checkpoint.
    private func simulateKill() throws {
        let names = directory.names
        let lock = try disk.open(names.lock, .new)
        let file = try disk.open(names.path(.new(), .partial), .new)
        try SampleObject.first.bytes(0..<300).withUnsafeBytes { try disk.write($0, to: file, at: 0) }
        disk.close(lock)
        disk.close(file)
    }

    private func clean() throws -> RemovedLeftovers {
        let now = SystemTimeSource().date.secondsSinceEpoch
        return try PartialStore().removeLeftovers(
            in: directory.path, writtenBefore: HTTPDate(secondsSinceEpoch: now - Self.day))
    }

    /// Makes all files two days old.
    private func age() throws {
        let date = Date(timeIntervalSinceNow: -2 * Double(Self.day))
        for name in try directory.contents {
            try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: "\(directory.path)/\(name)")
        }
    }
}
