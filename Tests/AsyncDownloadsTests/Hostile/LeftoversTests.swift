internal import Foundation
internal import TestSupport
internal import Testing

@testable internal import AsyncDownloads

/// What killed processes leave, and who removes it.
@Suite(.endsWhenHung)
struct LeftoversTests {
    private let directory: TemporaryDirectory
    private let disk = POSIXFileSystem()

    init() throws { directory = try TemporaryDirectory() }

    private static let day: Int64 = 86_400

    @Test func `boundary 12: what a killed process left of a body without a validator is removed`() throws {
        try kill()
        #expect(try directory.contents.count == 2)
        #expect(try clean() == RemovedLeftovers(), "it is new")
        try age()
        #expect(try clean() == RemovedLeftovers(fileCount: 2, byteCount: 300))
        #expect(try directory.contents.isEmpty)
    }

    @Test func `boundary 12: the next run of the same download removes it`() throws {
        try kill()
        let partial = try DiskStore().open(directory.location)
        #expect(partial.finding == .nothing)
        try partial.begin(SampleObject.first.representation)
        try partial.finish(.first, IntervalSet(), at: directory.destination)
        #expect(try directory.contents == ["file.zip"])
    }

    @Test func `boundary 12: unfinished downloads, other files and those in use stay`() throws {
        try DiskStore().leaveUnfinished(at: directory.location)
        let stem = directory.names.stem
        let orphan = "\(stem)-0123456789abcdef-0123456789abcdef.copy"
        let others = [".file.zip.lock", ".hidden.partial", "\(stem)-x-y.partial", "plain", ".a.0123456789abcde.lock"]
        for name in others + [orphan] { try directory.put([1], at: "\(directory.path)/\(name)") }
        try FileManager.default.createDirectory(
            atPath: "\(directory.path)/\(stem)-0123456789abcdef-0123456789abcde0.temp",
            withIntermediateDirectories: false)
        try age()
        let owner = try DiskStore().open(directory.location)
        #expect(try clean() == RemovedLeftovers(), "a process has it")
        owner.close()
        try age()
        #expect(try clean() == RemovedLeftovers(), "opening has removed the copy, and all else stays")
        try directory.put([1], at: "\(directory.path)/\(orphan)")
        try age()
        #expect(try clean() == RemovedLeftovers(fileCount: 1, byteCount: 1))
        #expect(try Set(directory.contents).isSuperset(of: others))
        let partial = try DiskStore().open(directory.location)
        #expect(partial.finding == .bytes(SampleObject.first.representation, IntervalSet(0..<300)))
        partial.close()
    }

    @Test(arguments: ["", "{\"format\":3,\"crc32\":\"00000000\",\"record\":{}}\n"])
    func `boundary 12: what no version can read is removed, what another version can stays`(_ text: String) throws {
        try DiskStore().leaveUnfinished(at: directory.location)
        try directory.put(text.utf8, at: directory.names.checkpoint)
        try age()
        let count = text.isEmpty ? 3 : 0
        #expect(try clean().fileCount == count)
        #expect(try directory.contents.count == 3 - count)
    }

    @Test func `boundary 6: a file that bytes were imported from stays beside them`() throws {
        var imported = SampleObject.first.representation
        imported.isImported = true
        let partial = try DiskStore().open(directory.location)
        try partial.begin(imported)
        try partial.write(.first, 0..<300)
        try partial.save(IntervalSet(0..<300))
        partial.close()
        let source = directory.names.path(.new(), .partial)
        try directory.put([1], at: source)
        try DiskStore().open(directory.location).close()
        #expect(directory.bytes(at: source) == [1])
    }

    /// Leaves what a process leaves that is killed: 300 bytes and, without a validator, no checkpoint.
    private func kill() throws {
        let names = directory.names
        let lock = try disk.open(names.lock, .new)
        let file = try disk.open(names.path(.new(), .partial), .new)
        try SampleObject.first.bytes(0..<300).withUnsafeBytes { try disk.write($0, to: file, at: 0) }
        disk.close(lock)
        disk.close(file)
    }

    private func clean() throws -> RemovedLeftovers {
        let now = SystemTimeSource().date.secondsSinceEpoch
        return try DiskStore().removeLeftovers(
            in: directory.path, writtenBefore: HTTPDate(secondsSinceEpoch: now - Self.day))
    }

    /// Makes everything two days old.
    private func age() throws {
        let date = Date(timeIntervalSinceNow: -2 * Double(Self.day))
        for name in try directory.contents {
            try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: "\(directory.path)/\(name)")
        }
    }
}
