internal import Foundation
internal import TestSupport
internal import Testing

@testable internal import AsyncDownloads

/// Tests of the bytes that a checkpoint claims after a rollback, and of the marks that are trusted.
@Suite(.endsWhenHung)
struct MarksAndRollbacksTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    @Test(arguments: [Durability.powerLoss, .processCrash])
    func `boundary 17: a rollback is written in place if the disk is full`(_ durability: Durability) throws {
        let full = Mutex(false)
        var files = PretendingFileSystem(locks: .pretended)
        files.refusal = { path, _ in path.hasSuffix(".temp") && full.withLock { $0 } ? .noSpace : nil }
        let store = PartialStore(disk: files, durability: durability, bootID: "one")
        let partial = try store.open(directory.location)
        try partial.begin(SampleObject.first.representation)
        try partial.write(.first, 0..<500)
        try partial.save(IntervalSet(0..<400))
        partial.mark(IntervalSet(0..<500))
        full.withLock { $0 = true }
        try partial.rollBack(to: IntervalSet(0..<200))
        #expect(try received(store) == IntervalSet(0..<200))
        // Later bytes count if a later mark claims them, until the next rollback.
        partial.mark(IntervalSet(0..<450))
        #expect(try received(store) == IntervalSet(0..<450))
        try partial.rollBack(to: IntervalSet(0..<100))
        #expect(try received(store) == IntervalSet(0..<100))
        try partial.rollBack(to: IntervalSet(0..<50))
        #expect(partial.close() == IntervalSet(0..<50))
        let next = try store.open(directory.location)
        #expect(next.finding == .bytes(SampleObject.first.representation, IntervalSet(0..<50)))
        full.withLock { $0 = false }
        try next.save(IntervalSet(0..<60))
        #expect(next.close() == IntervalSet(0..<60))
    }

    @Test func `boundary 17: the checkpoint is removed if nothing can be written`() throws {
        let broken = Mutex(false)
        var files = PretendingFileSystem(locks: .pretended)
        files.refusal = { path, _ in path.hasSuffix(".temp") && broken.withLock { $0 } ? .noSpace : nil }
        files.writing = { name in name.hasSuffix(".temp") && broken.withLock { $0 } ? .other : nil }
        let store = PartialStore(disk: files, durability: .powerLoss, bootID: "one")
        let partial = try store.open(directory.location)
        try partial.begin(SampleObject.first.representation)
        try partial.write(.first, 0..<500)
        try partial.save(IntervalSet(0..<400))
        broken.withLock { $0 = true }
        #expect(throws: DownloadError.self) { try partial.rollBack(to: IntervalSet(0..<200)) }
        #expect(partial.close().isEmpty)
        #expect(try directory.contents.isEmpty)
    }

    @Test func `boundary 19: no mark is written or trusted on a network file system`() throws {
        try mark(on: .disk)
        var files = PretendingFileSystem(locks: .pretended)
        files.volume = .other
        let store = PartialStore(disk: files, durability: .powerLoss, bootID: "one")
        #expect(try received(store) == IntervalSet(0..<300), "listed")
        let partial = try store.open(directory.location)
        #expect(partial.finding == .bytes(SampleObject.first.representation, IntervalSet(0..<300)), "opened")
        try partial.write(.first, 500..<600)
        partial.mark(IntervalSet(0..<600))
        #expect(partial.close() == IntervalSet(0..<300))
        let local = PartialStore(
            disk: PretendingFileSystem(locks: .pretended), durability: .powerLoss, bootID: "one")
        #expect(try received(local) == IntervalSet(0..<500), "only for a process with a local file system")
    }

    @Test func `boundary 19: every checkpoint is synced on a network file system`() throws {
        var files = PretendingFileSystem(locks: .pretended)
        files.volume = .other
        let count = Counter()
        files.syncing = { _ in
            _ = count.enter()
            return nil
        }
        let store = PartialStore(disk: files, durability: .processCrash, bootID: "one")
        try store.leaveUnfinished(at: directory.location)
        #expect(count.enter() > 2, "the bytes and the checkpoint")
        let bytes = try #require(directory.bytes(at: directory.names.checkpoint))
        #expect(try Checkpoint.decode(bytes).checkpoint.session == nil)
    }

    @Test func `boundary 19: a mark is trusted after a sync, and never after a failed sync`() throws {
        try mark(on: .disk)
        var files = PretendingFileSystem(locks: .pretended)
        let failed = Counter()
        // The system reports a failed sync to one descriptor only, and once.
        files.syncing = { $0.hasSuffix(".partial") && failed.enter() == 1 ? .other : nil }
        let store = PartialStore(disk: files, durability: .powerLoss, bootID: "one")
        for _ in 0..<2 {
            let partial = try store.open(directory.location)
            #expect(partial.finding == .bytes(SampleObject.first.representation, IntervalSet(0..<300)))
            partial.close()
        }
        #expect(failed.enter() == 2, "nothing is synced without a mark")
    }

    @Test func `boundary 19: bytes that were never synced are not trusted after a failed sync`() throws {
        try PartialStore(disk: PretendingFileSystem(locks: .pretended), durability: .processCrash, bootID: "one")
            .leaveUnfinished(at: directory.location)
        var files = PretendingFileSystem(locks: .pretended)
        files.syncing = { $0.hasSuffix(".partial") ? .other : nil }
        let partial = try PartialStore(disk: files, durability: .processCrash, bootID: "one").open(directory.location)
        #expect(partial.finding == .unusable(.partialMissing, discarded: 300))
    }

    /// Creates an unfinished download with 300 bytes in its checkpoint and 200 more in a mark.
    private func mark(on volume: VolumeKind) throws {
        var files = PretendingFileSystem(locks: .pretended)
        files.volume = volume
        let partial = try PartialStore(disk: files, durability: .powerLoss, bootID: "one").open(directory.location)
        try partial.begin(SampleObject.first.representation)
        try partial.write(.first, 0..<500)
        try partial.save(IntervalSet(0..<300))
        partial.mark(IntervalSet(0..<500))
        partial.close()
    }

    private func received(_ store: PartialStore) throws -> IntervalSet? {
        store.unfinished(at: directory.location)?.received
    }
}
