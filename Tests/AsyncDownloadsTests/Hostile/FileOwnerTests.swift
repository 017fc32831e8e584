internal import Foundation
internal import TestSupport
internal import Testing

@testable internal import AsyncDownloads

/// Tests of the owners of files that may be used, and of files of other owners.
@Suite(.endsWhenHung)
struct FileOwnerTests {
    private let directory: TemporaryDirectory
    private let disk = POSIXFileSystem()

    init() throws { directory = try TemporaryDirectory() }

    /// A file system that replaces the owner of files.
    enum Owners: String, CaseIterable, Sendable {
        case squashed, mounted
    }

    @Test(arguments: Owners.allCases)
    func `boundary 11: a file belongs to the user if it has the owner of a file just created there`(
        _ owners: Owners
    ) throws {
        var files = PretendingFileSystem(locks: .working(after: {}))
        files.ownership = { _ in owners == .squashed ? (65_534, 0o600) : (1234, 0o777) }
        let store = PartialStore(disk: files, durability: .powerLoss, bootID: nil)
        try store.leaveUnfinished(at: directory.location)
        #expect(try store.unfinished(in: directory.path, trustsDestinations: false).count == 1)
        let partial = try store.open(directory.location)
        #expect(partial.finding == .bytes(SampleObject.first.representation, IntervalSet(0..<300)))
        partial.close()
    }

    @Test(arguments: [".checkpoint", ".partial"], [0o600, 0o666] as [UInt16])
    func `boundary 11: files of another owner are not used`(_ suffix: String, _ permissions: UInt16) throws {
        try PartialStore().leaveUnfinished(at: directory.location)
        var files = PretendingFileSystem(locks: .working(after: {}))
        let user = disk.user
        files.ownership = { $0.hasSuffix(suffix) ? (permissions == 0o600 ? user + 1 : user, permissions) : nil }
        let store = PartialStore(disk: files, durability: .powerLoss, bootID: nil)
        #expect(try store.unfinished(in: directory.path, trustsDestinations: false).isEmpty)
        let partial = try store.open(directory.location)
        let reason: RestartReason = suffix == ".partial" ? .partialMissing : .checkpointCorrupt
        #expect(partial.finding == .unusable(reason, discarded: 300))
        partial.close()
    }

    @Test(arguments: [false, true])
    func `boundary 11: a lock of another user does not block a download`(_ canBeOpened: Bool) throws {
        let path = directory.names.lock
        let planted = try disk.open(path, .new)
        #expect(try disk.lock(planted))
        defer { disk.close(planted) }
        var files = PretendingFileSystem(locks: .working(after: {}))
        let user = disk.user
        files.ownership = { $0.hasSuffix(".lock") ? (user + 1, 0o600) : nil }
        files.refusal = { asked, purpose in
            !canBeOpened && asked == path && purpose == .existing ? .denied : nil
        }
        let store = PartialStore(disk: files, durability: .powerLoss, bootID: nil)
        try store.leaveUnfinished(at: directory.location)
        let partial = try store.open(directory.location)
        #expect(partial.finding == .bytes(SampleObject.first.representation, IntervalSet(0..<300)))
        try partial.finish(.first, IntervalSet(0..<300), at: directory.destination)
        #expect(directory.bytes(at: directory.destination) == SampleObject.first.bytes())
    }

    @Test(arguments: [FileFailure.Kind.noSpace, .tooManyOpenFiles])
    func `boundary 11: bytes are not discarded if their owner cannot be determined`(_ kind: FileFailure.Kind) throws {
        let isShort = Mutex(false)
        var files = PretendingFileSystem(locks: .working(after: {}))
        files.ownership = { _ in (65_534, 0o600) }
        files.refusal = { path, purpose in
            purpose == .new && path.hasSuffix(".temp") && isShort.withLock { $0 } ? kind : nil
        }
        let store = PartialStore(disk: files, durability: .powerLoss, bootID: nil)
        try store.leaveUnfinished(at: directory.location)
        isShort.withLock { $0 = true }
        #expect(throws: DownloadError.self) { try store.open(directory.location) }
        isShort.withLock { $0 = false }
        let partial = try store.open(directory.location)
        #expect(partial.finding == .bytes(SampleObject.first.representation, IntervalSet(0..<300)))
        partial.close()
    }

    @Test func `boundary 11: two users never use the same file`() {
        let names = [0, 1000].map { PartialNames(directory.location, user: $0) }
        #expect(names[0].lock != names[1].lock)
        #expect(names[0].checkpoint != names[1].checkpoint)
    }
}
