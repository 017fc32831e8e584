internal import Foundation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Tests of new partials that buffer a small body in memory.
@Suite("A buffered partial", .endsWhenHung)
struct BufferedPartialTests {
    static let lockName = PartialNames.lastComponent(of: PartialNames(.sample(in: "/")).lock)

    let directory: TemporaryDirectory
    let store = PartialStore(durability: .processCrash, bufferedLength: SampleObject.length)

    init() throws { directory = try TemporaryDirectory() }

    func representation(length: Int64?) -> Representation {
        var representation = SampleObject.first.representation
        representation.length = length
        return representation
    }

    func open() throws -> PartialFile { try store.open(directory.location) }

    @Test(arguments: [SampleObject.length, nil])
    func `only the lock file exists until the bytes are placed, and it becomes the file`(length: Int64?) throws {
        let partial = try open()
        try partial.begin(representation(length: length))
        try partial.write(.first, 0..<600)
        try partial.write(.first, 600..<1000)
        #expect(try directory.contents == [Self.lockName])
        let inode = try FileManager.default.attributesOfItem(atPath: directory.names.lock)[.systemFileNumber] as? Int
        #expect(try partial.bytes(500..<700) == SampleObject.first.bytes(500..<700))
        try partial.place(at: [directory.destination], length: 1000)[0].get()
        #expect(try directory.contents == ["file.zip"])
        #expect(directory.bytes(at: directory.destination) == SampleObject.first.bytes())
        let attributes = try FileManager.default.attributesOfItem(atPath: directory.destination)
        #expect(attributes[.systemFileNumber] as? Int == inode)
        #expect(attributes[.posixPermissions] as? Int == Int(POSIXFileSystem().ordinaryPermissions))
        #expect(throws: DownloadError.self) { try partial.write(.first, 0..<1) }
    }

    @Test func `an empty body is placed`() throws {
        let partial = try open()
        try partial.begin(representation(length: 0))
        try partial.place(at: [directory.destination], length: 0)[0].get()
        #expect(directory.bytes(at: directory.destination) == [])
    }

    @Test func `rule 44: a full disk loses none of the bytes`() throws {
        var files = PretendingFileSystem(locks: .pretended, space: 0)
        let writes = Counter()
        files.writing = { _ in writes.enter() == 1 ? .noSpace : nil }
        let store = PartialStore(
            disk: files, durability: .processCrash, bootID: "boot", bufferedLength: SampleObject.length)
        let partial = try store.open(directory.location)
        try partial.begin(representation(length: 1000))
        try partial.write(.first, 0..<1000)
        let error = #expect(throws: DownloadError.self) {
            try partial.place(at: [directory.destination], length: 1000)[0].get()
        }
        #expect(error?.code == .diskFull)
        #expect(try directory.contents == [Self.lockName])
        try partial.place(at: [directory.destination], length: 1000)[0].get()
        #expect(directory.bytes(at: directory.destination) == SampleObject.first.bytes())
    }

    @Test func `a longer file has a partial file from the beginning`() throws {
        let partial = try open()
        try partial.begin(representation(length: SampleObject.length + 1))
        #expect(try directory.contents.count { $0.hasSuffix(".partial") } == 1)
    }

    @Test func `a body of unknown length gets a partial file when it is too long`() throws {
        let partial = try open()
        try partial.begin(representation(length: nil))
        try partial.write(.first, 0..<1000)
        #expect(try directory.contents == [Self.lockName])
        try partial.write(.first, 1000..<1500)
        #expect(try directory.contents.count { $0.hasSuffix(".partial") } == 1)
        #expect(try partial.bytes(0..<1500) == SampleObject.first.bytes(0..<1500))
        try partial.place(at: [directory.destination], length: 1500)[0].get()
        #expect(try directory.contents == ["file.zip"])
        #expect(directory.bytes(at: directory.destination) == SampleObject.first.bytes(0..<1500))
    }

    @Test func `saved bytes survive, with marks that were made before and after`() throws {
        let partial = try open()
        try partial.begin(representation(length: 1000))
        try partial.write(.first, 0..<400)
        partial.mark(IntervalSet(0..<400))
        try partial.save(IntervalSet(0..<300))
        partial.leak()
        let first = try reopen()
        #expect(first.finding.received == IntervalSet(0..<400))
        try first.write(.first, 400..<500)
        first.mark(IntervalSet(0..<500))
        first.leak()
        #expect(try reopen().finding.received == IntervalSet(0..<500))
    }

    /// Opens the partial of a process that was killed: its lock is released, its files stay.
    private func reopen() throws -> PartialFile {
        let lock = directory.names.lock
        try FileManager.default.removeItem(atPath: lock)
        try Data().write(to: URL(fileURLWithPath: lock))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: lock)
        return try open()
    }

    @Test func `a closed partial without saved bytes leaves no files`() throws {
        let partial = try open()
        try partial.begin(representation(length: 1000))
        try partial.write(.first, 0..<400)
        #expect(partial.close().isEmpty)
        #expect(try directory.contents.isEmpty)
        #expect(try open().finding == .nothing)
    }

    @Test func `the location is in use while the bytes are in memory`() throws {
        let partial = try open()
        try partial.begin(representation(length: 1000))
        let error = #expect(throws: DownloadError.self) { try open() }
        #expect(error?.code == .partialInUse)
        partial.discard()
        _ = try open()
    }

    @Test func `bytes that could not be placed stay, and can be saved`() throws {
        var representation = representation(length: 1000)
        representation.validator = .entityTag(try #require(EntityTag("\"1\"")))
        var location = PartialLocation.sample(in: directory.path + "/hidden")
        location.request.destination = directory.destination
        let partial = try store.open(location)
        try partial.begin(representation)
        try partial.write(.first, 0..<1000)
        try FileManager.default.createDirectory(atPath: directory.destination, withIntermediateDirectories: false)
        #expect(throws: DownloadError.self) { try partial.place(at: [directory.destination], length: 1000)[0].get() }
        try partial.save(IntervalSet(0..<1000))
        #expect(partial.close() == IntervalSet(0..<1000))
        let later = try store.open(location)
        #expect(try later.bytes(0..<1000) == SampleObject.first.bytes())
        try later.place(at: [directory.path + "/other.zip"], length: 1000)[0].get()
        #expect(directory.bytes(at: directory.path + "/other.zip") == SampleObject.first.bytes())
    }

    @Test func `each destination gets the file, also on another volume`() throws {
        let disk = SimulatedFileSystem(CrashTests.freshDisk())
        let store = PartialStore(disk: disk, durability: .powerLoss, bootID: "boot", bufferedLength: 1000)
        let partial = try store.open(.sample(in: "/location"))
        try partial.begin(representation(length: 1000))
        try partial.write(.first, 0..<1000)
        for result in partial.place(at: ["/other/copy.zip", "/location/copy.zip"], length: 1000) { try result.get() }
        #expect(disk.disk.bytes(at: "/other/copy.zip") == SampleObject.first.bytes())
        #expect(disk.disk.bytes(at: "/location/copy.zip") == SampleObject.first.bytes())
        #expect(try disk.names(in: "/location").allSatisfy { !$0.hasPrefix(".") })
    }

    @Test func `bytes of unknown length that can be continued survive a kill`() throws {
        var representation = representation(length: nil)
        representation.validator = .entityTag(try #require(EntityTag("\"1\"")))
        let partial = try open()
        try partial.begin(representation)
        try partial.write(.first, 0..<400)
        partial.mark(IntervalSet(0..<400))
        partial.leak()
        #expect(try reopen().finding.received == IntervalSet(0..<400))
    }

    @Test func `a mark that was decided before a rollback is ignored`() throws {
        let partial = try open()
        try partial.begin(representation(length: 1000))
        try partial.write(.first, 0..<400)
        partial.mark(IntervalSet(0..<400), epoch: 0)
        try partial.rollBack(to: IntervalSet(0..<200), epoch: 1)
        partial.mark(IntervalSet(0..<400), epoch: 0)
        try partial.save(IntervalSet(0..<200))
        partial.mark(IntervalSet(0..<400), epoch: 0)
        partial.leak()
        #expect(try reopen().finding.received == IntervalSet(0..<200))
    }

    @Test func `a mark moves with the bytes`() throws {
        let store = PartialStore(durability: .processCrash, bufferedLength: 500)
        let partial = try store.open(directory.location)
        try partial.begin(representation(length: 500))
        try partial.write(.first, 0..<400)
        partial.mark(IntervalSet(0..<400), epoch: 0)
        // More bytes than were announced.
        try partial.write(.first, 400..<600)
        try partial.save(IntervalSet(0..<100))
        partial.leak()
        #expect(try reopen().finding.received == IntervalSet(0..<400))
    }

    @Test func `a late rollback removes no bytes of a later response`() throws {
        let partial = try open()
        try partial.begin(representation(length: 1000))
        try partial.write(.first, 0..<600)
        try partial.rollBack(to: IntervalSet(0..<300))
        try partial.write(.first, 600..<1000)
        try partial.place(at: [directory.destination], length: 1000)[0].get()
        #expect(directory.bytes(at: directory.destination) == SampleObject.first.bytes())
    }

    @Test func `a mark of an earlier representation is not written for a later one`() throws {
        let partial = try open()
        try partial.begin(representation(length: nil))
        try partial.write(.first, 0..<1000)
        partial.mark(IntervalSet(0..<1000))
        try partial.write(.first, 1000..<1100)
        try partial.begin(SampleObject.second.representation)
        try partial.write(.second, 0..<100)
        try partial.save(IntervalSet(0..<100))
        #expect(partial.close() == IntervalSet(0..<100))
    }

    @Test func `a full disk keeps the bytes in memory`() throws {
        let disk = SimulatedFileSystem(CrashTests.freshDisk())
        let store = PartialStore(disk: disk, durability: .processCrash, bootID: "boot", bufferedLength: 1000)
        let partial = try store.open(.sample(in: "/location"))
        try partial.begin(representation(length: 1000))
        try partial.write(.first, 0..<1000)
        disk.behave(.init(fault: .init(change: 1, kind: .noSpace)))
        #expect(throws: DownloadError.self) { try partial.save(IntervalSet(0..<1000)) }
        #expect(try disk.names(in: "/location").count { $0.hasPrefix(".") } == 1)
        try partial.place(at: [CrashTests.destination], length: 1000)[0].get()
        #expect(disk.disk.bytes(at: CrashTests.destination) == SampleObject.first.bytes())
        #expect(try disk.names(in: "/location").allSatisfy { !$0.hasPrefix(".") })
    }
}
