internal import Foundation
internal import TestSupport
internal import Testing

@testable internal import AsyncDownloads

/// What storage does not believe, does not keep and does not lose: owners, leftovers, claims and allocated blocks.
@Suite(.endsWhenHung)
struct StorageBoundaryTests {
    private let directory: TemporaryDirectory
    private let disk = POSIXFileSystem()

    init() throws { directory = try TemporaryDirectory() }

    // MARK: Allocated blocks

    @Test func `boundary 3: a length that a server claims takes no more than a step of the disk`() throws {
        var partial: any Partial = try DiskStore().open(directory.site)
        try partial.begin(large(2 << 30))
        #expect(try allocated() == 0, "nothing was received")
        try partial.write(.first, 0..<1000)
        #expect(try allocated() <= BlockAllocation.step + (1 << 20))
        try partial.save(IntervalSet(0..<1000))
        partial.close()
        #expect(try allocated() <= BlockAllocation.step + (1 << 20), "a pause")
        partial = try DiskStore().open(directory.site)
        try partial.write(.first, 1000..<2000)
        #expect(try allocated() <= BlockAllocation.step + (1 << 20), "after the pause")
        partial.discard()
        #expect(try directory.contents.isEmpty)
    }

    @Test func `boundary 3: the steps stay ahead of the bytes, and end with the file`() {
        let (step, length) = (BlockAllocation.step, 5 * BlockAllocation.step / 2)
        var allocation = BlockAllocation()
        #expect(allocation.extend(for: 0..<10, length: length) == 0..<10 + step)
        #expect(allocation.extend(for: 10..<step, length: length) == nil)
        #expect(allocation.extend(for: step..<step + 11, length: length) == 10 + step..<2 * step + 11)
        #expect(allocation.extend(for: step + 11..<2 * step + 12, length: length) == 2 * step + 11..<length)
        #expect(allocation.extend(for: length - 1..<length, length: length) == nil)
        #expect(allocation.extend(for: length..<length + 5, length: length) == length..<length + 5, "too long a body")
        var resumed = BlockAllocation()
        #expect(resumed.extend(for: 500..<1000, length: length) == 500..<1000 + step)
        #expect(resumed.extend(for: length..<Int64.max, length: Int64.max) == 1000 + step..<Int64.max)
        var unknown = BlockAllocation()
        #expect(unknown.extend(for: 0..<(1 << 40), length: nil) == nil)
        #expect(unknown.extend(for: 0..<10, length: 1000) == nil, "a small file")
    }

    @Test func `boundary 3: where nothing was received nothing is kept`() throws {
        let partial = try DiskStore().open(directory.site)
        var representation = large(1 << 30)
        representation.validator = Validator(rawValue: "\"a\"")
        try partial.begin(representation)
        #expect(try directory.contents.contains { $0.hasSuffix(".checkpoint") })
        #expect(partial.close().isEmpty)
        #expect(try directory.contents.isEmpty)
    }

    @Test(.enabled(if: FileManager.default.fileExists(atPath: "/dev/shm"), "needs a file system in memory"))
    func `boundary 3: nothing is allocated ahead in memory`() throws {
        let memory = try TemporaryDirectory(in: "/dev/shm")
        let partial = try DiskStore().open(memory.site)
        try partial.begin(large(1 << 30))
        try partial.write(.first, 0..<1000)
        #expect(try allocated(in: memory) <= 1 << 20)
        partial.discard()
    }

    @Test func `boundary 3: a download whose rest finds no room fails before it writes`() throws {
        let first = try DiskStore().open(directory.site)
        try first.begin(large(1 << 30))
        try first.write(.first, 0..<1000)
        try first.save(IntervalSet(0..<1000))
        first.close()
        var files = PretendingFileSystem(locks: .pretended)
        files.space = 500 << 20
        let store = DiskStore(disk: files, durability: .powerLoss, bootID: nil)
        let partial = try store.open(directory.site)
        let error = #expect(throws: DownloadError.self) { try partial.write(.first, 1000..<2000) }
        #expect(error?.code == .diskFull)
        #expect(partial.close() == IntervalSet(0..<1000))
        let again = try store.open(directory.site)
        let whole = #expect(throws: DownloadError.self) { try again.begin(large(1 << 30)) }
        #expect(whole?.code == .diskFull)
        again.discard()
        #expect(try directory.contents.isEmpty)
    }

    // MARK: Owners

    /// File systems that give files an owner of their own.
    enum Owners: String, CaseIterable, Sendable {
        case squashed, mounted
    }

    @Test(arguments: Owners.allCases)
    func `boundary 11: files are own that have the owner of a file just created there`(_ owners: Owners) throws {
        var files = PretendingFileSystem(locks: .working(after: {}))
        files.ownership = { _ in owners == .squashed ? (65_534, 0o600) : (1234, 0o777) }
        let store = DiskStore(disk: files, durability: .powerLoss, bootID: nil)
        try leave(store)
        #expect(try store.unfinished(in: directory.path, trustsDestinations: false).count == 1)
        let partial = try store.open(directory.site)
        #expect(partial.finding == .bytes(SampleObject.first.representation, IntervalSet(0..<300)))
        partial.close()
    }

    @Test(arguments: [".checkpoint", ".partial"], [0o600, 0o666] as [UInt16])
    func `boundary 11: files of another owner are not used`(_ suffix: String, _ permissions: UInt16) throws {
        try leave(DiskStore())
        var files = PretendingFileSystem(locks: .working(after: {}))
        let user = disk.user
        files.ownership = { $0.hasSuffix(suffix) ? (permissions == 0o600 ? user + 1 : user, permissions) : nil }
        let store = DiskStore(disk: files, durability: .powerLoss, bootID: nil)
        #expect(try store.unfinished(in: directory.path, trustsDestinations: false).isEmpty)
        let partial = try store.open(directory.site)
        let reason: RestartReason = suffix == ".partial" ? .partialMissing : .checkpointCorrupt
        #expect(partial.finding == .unusable(reason, discarded: 300))
        partial.close()
    }

    @Test(arguments: [false, true])
    func `boundary 11: a lock that another user holds shuts nobody out`(_ canBeOpened: Bool) throws {
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
        let store = DiskStore(disk: files, durability: .powerLoss, bootID: nil)
        try leave(store)
        let partial = try store.open(directory.site)
        #expect(partial.finding == .bytes(SampleObject.first.representation, IntervalSet(0..<300)))
        try partial.finish(.first, IntervalSet(0..<300), at: directory.destination)
        #expect(directory.bytes(at: directory.destination) == SampleObject.first.bytes())
    }

    @Test(arguments: [FileFailure.Kind.noSpace, .tooManyOpenFiles])
    func `boundary 11: what cannot be found out is no reason to give bytes up`(_ kind: FileFailure.Kind) throws {
        let isShort = Mutex(false)
        var files = PretendingFileSystem(locks: .working(after: {}))
        files.ownership = { _ in (65_534, 0o600) }
        files.refusal = { path, purpose in
            purpose == .new && path.hasSuffix(".temp") && isShort.withLock { $0 } ? kind : nil
        }
        let store = DiskStore(disk: files, durability: .powerLoss, bootID: nil)
        try leave(store)
        isShort.withLock { $0 = true }
        #expect(throws: DownloadError.self) { try store.open(directory.site) }
        isShort.withLock { $0 = false }
        let partial = try store.open(directory.site)
        #expect(partial.finding == .bytes(SampleObject.first.representation, IntervalSet(0..<300)))
        partial.close()
    }

    @Test func `boundary 6: a file that bytes were imported from stays beside them`() throws {
        var imported = SampleObject.first.representation
        imported.isImported = true
        let partial = try DiskStore().open(directory.site)
        try partial.begin(imported)
        try partial.write(.first, 0..<300)
        try partial.save(IntervalSet(0..<300))
        partial.close()
        let source = directory.names.path(.new(), .partial)
        try directory.put([1], at: source)
        try DiskStore().open(directory.site).close()
        #expect(directory.bytes(at: source) == [1])
    }

    @Test func `boundary 11: two users never meet in one file`() {
        let names = [0, 1000].map { PartialNames(directory.site, user: $0) }
        #expect(names[0].lock != names[1].lock)
        #expect(names[0].checkpoint != names[1].checkpoint)
    }

    // MARK: Leftovers

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
        let partial = try DiskStore().open(directory.site)
        #expect(partial.finding == .nothing)
        try partial.begin(SampleObject.first.representation)
        try partial.finish(.first, IntervalSet(), at: directory.destination)
        #expect(try directory.contents == ["file.zip"])
    }

    @Test func `boundary 12: unfinished downloads, other files and those in use stay`() throws {
        try leave(DiskStore())
        let stem = directory.names.stem
        let orphan = "\(stem)-0123456789abcdef-0123456789abcdef.copy"
        let others = [".file.zip.lock", ".hidden.partial", "\(stem)-x-y.partial", "plain", ".a.0123456789abcde.lock"]
        for name in others + [orphan] { try directory.put([1], at: "\(directory.path)/\(name)") }
        try FileManager.default.createDirectory(
            atPath: "\(directory.path)/\(stem)-0123456789abcdef-0123456789abcde0.temp",
            withIntermediateDirectories: false)
        try age()
        let owner = try DiskStore().open(directory.site)
        #expect(try clean() == RemovedLeftovers(), "a process has it")
        owner.close()
        try age()
        #expect(try clean() == RemovedLeftovers(), "opening has removed the copy, and all else stays")
        try directory.put([1], at: "\(directory.path)/\(orphan)")
        try age()
        #expect(try clean() == RemovedLeftovers(fileCount: 1, byteCount: 1))
        #expect(try Set(directory.contents).isSuperset(of: others))
        let partial = try DiskStore().open(directory.site)
        #expect(partial.finding == .bytes(SampleObject.first.representation, IntervalSet(0..<300)))
        partial.close()
    }

    @Test(arguments: ["", "{\"format\":3,\"crc32\":\"00000000\",\"record\":{}}\n"])
    func `boundary 12: what no version can read is removed, what another version can stays`(_ text: String) throws {
        try leave(DiskStore())
        try directory.put(text.utf8, at: directory.names.checkpoint)
        try age()
        let count = text.isEmpty ? 3 : 0
        #expect(try clean().fileCount == count)
        #expect(try directory.contents.count == 3 - count)
    }

    // MARK: Rollbacks

    @Test(arguments: [Durability.powerLoss, .processCrash])
    func `boundary 17: a rollback that finds no space is written in place`(_ durability: Durability) throws {
        let full = Mutex(false)
        var files = PretendingFileSystem(locks: .pretended)
        files.refusal = { path, _ in path.hasSuffix(".temp") && full.withLock { $0 } ? .noSpace : nil }
        let store = DiskStore(disk: files, durability: durability, bootID: "one")
        let partial = try store.open(directory.site)
        try partial.begin(SampleObject.first.representation)
        try partial.write(.first, 0..<500)
        try partial.save(IntervalSet(0..<400))
        partial.mark(IntervalSet(0..<500))
        full.withLock { $0 = true }
        try partial.retract(to: IntervalSet(0..<200))
        #expect(try received(store) == IntervalSet(0..<200))
        // Bytes that come later count by their own marks, and after another rollback not any more.
        partial.mark(IntervalSet(0..<450))
        #expect(try received(store) == IntervalSet(0..<450))
        try partial.retract(to: IntervalSet(0..<100))
        #expect(try received(store) == IntervalSet(0..<100))
        try partial.retract(to: IntervalSet(0..<50))
        #expect(partial.close() == IntervalSet(0..<50))
        let next = try store.open(directory.site)
        #expect(next.finding == .bytes(SampleObject.first.representation, IntervalSet(0..<50)))
        full.withLock { $0 = false }
        try next.save(IntervalSet(0..<60))
        #expect(next.close() == IntervalSet(0..<60))
    }

    @Test func `boundary 17: where nothing can be written the checkpoint goes`() throws {
        let broken = Mutex(false)
        var files = PretendingFileSystem(locks: .pretended)
        files.refusal = { path, _ in path.hasSuffix(".temp") && broken.withLock { $0 } ? .noSpace : nil }
        files.writing = { name in name.hasSuffix(".temp") && broken.withLock { $0 } ? .other : nil }
        let store = DiskStore(disk: files, durability: .powerLoss, bootID: "one")
        let partial = try store.open(directory.site)
        try partial.begin(SampleObject.first.representation)
        try partial.write(.first, 0..<500)
        try partial.save(IntervalSet(0..<400))
        broken.withLock { $0 = true }
        #expect(throws: DownloadError.self) { try partial.retract(to: IntervalSet(0..<200)) }
        #expect(partial.close().isEmpty)
        #expect(try directory.contents.isEmpty)
    }

    // MARK: Marks

    @Test func `boundary 19: no mark is written or believed on a network file system`() throws {
        try mark(on: .disk)
        var files = PretendingFileSystem(locks: .pretended)
        files.volume = .other
        let store = DiskStore(disk: files, durability: .powerLoss, bootID: "one")
        #expect(try received(store) == IntervalSet(0..<300), "listed")
        let partial = try store.open(directory.site)
        #expect(partial.finding == .bytes(SampleObject.first.representation, IntervalSet(0..<300)), "opened")
        try partial.write(.first, 500..<600)
        partial.mark(IntervalSet(0..<600))
        #expect(partial.close() == IntervalSet(0..<300))
        let local = DiskStore(
            disk: PretendingFileSystem(locks: .pretended), durability: .powerLoss, bootID: "one")
        #expect(try received(local) == IntervalSet(0..<500), "of the local process only")
    }

    @Test func `boundary 19: on a network file system every checkpoint is synced`() throws {
        var files = PretendingFileSystem(locks: .pretended)
        files.volume = .other
        let count = Counter()
        files.syncing = { _ in
            _ = count.enter()
            return nil
        }
        let store = DiskStore(disk: files, durability: .processCrash, bootID: "one")
        try leave(store)
        #expect(count.enter() > 2, "the bytes and the checkpoint")
        let bytes = try #require(directory.bytes(at: directory.names.checkpoint))
        #expect(try Checkpoint.decode(bytes).checkpoint.session == nil)
    }

    @Test func `boundary 19: a mark is believed after a sync, and never after one that failed`() throws {
        try mark(on: .disk)
        var files = PretendingFileSystem(locks: .pretended)
        let failed = Counter()
        // The system tells one descriptor once.
        files.syncing = { $0.hasSuffix(".partial") && failed.enter() == 1 ? .other : nil }
        let store = DiskStore(disk: files, durability: .powerLoss, bootID: "one")
        for _ in 0..<2 {
            let partial = try store.open(directory.site)
            #expect(partial.finding == .bytes(SampleObject.first.representation, IntervalSet(0..<300)))
            partial.close()
        }
        #expect(failed.enter() == 2, "where there is no mark, nothing is synced")
    }

    @Test func `boundary 19: bytes that were never synced are not believed after a sync that failed`() throws {
        try leave(DiskStore(disk: PretendingFileSystem(locks: .pretended), durability: .processCrash, bootID: "one"))
        var files = PretendingFileSystem(locks: .pretended)
        files.syncing = { $0.hasSuffix(".partial") ? .other : nil }
        let partial = try DiskStore(disk: files, durability: .processCrash, bootID: "one").open(directory.site)
        #expect(partial.finding == .unusable(.partialMissing, discarded: 300))
    }

    // MARK: Copies and lists

    @Test func `boundary 20: a copy is its owner's alone from the first moment`() throws {
        let path = "\(directory.path)/source"
        try directory.put([1, 2, 3], at: path)
        let source = try disk.open(path, .reading)
        let copy = try disk.duplicate(source, to: "\(directory.path)/copy")
        #expect(try disk.information(of: copy).permissions == 0o600)
        disk.close(source)
        disk.close(copy)
    }

    @Test func `boundary 20: listing takes one look at the names, however many checkpoints there are`() throws {
        for number in 0..<50 {
            var site = directory.site
            site.baseName = "\(number)"
            try leave(DiskStore(durability: .processCrash), site)
        }
        let files = NameCountingFileSystem()
        let store = DiskStore(disk: files, durability: .processCrash, bootID: POSIXFileSystem.bootID())
        #expect(try store.unfinished(in: directory.path, trustsDestinations: false).count == 50)
        #expect(files.count.enter() == 2)
    }

    // MARK: Helpers

    private func large(_ length: Int64) -> Representation {
        var representation = SampleObject.first.representation
        representation.length = length
        return representation
    }

    /// How many bytes of the volume the partial file takes.
    private func allocated(in directory: TemporaryDirectory? = nil) throws -> Int64 {
        var status = stat()
        #expect(lstat(try (directory ?? self.directory).partialPath, &status) == 0)
        return Int64(status.st_blocks) * 512
    }

    private func leave(_ store: DiskStore, _ site: PartialSite? = nil) throws {
        let partial = try store.open(site ?? directory.site)
        try partial.begin(SampleObject.first.representation)
        try partial.write(.first, 0..<300)
        try partial.save(IntervalSet(0..<300))
        partial.close()
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

    /// Leaves 300 bytes in a checkpoint and 200 more in a mark.
    private func mark(on volume: VolumeKind) throws {
        var files = PretendingFileSystem(locks: .pretended)
        files.volume = volume
        let partial = try DiskStore(disk: files, durability: .powerLoss, bootID: "one").open(directory.site)
        try partial.begin(SampleObject.first.representation)
        try partial.write(.first, 0..<500)
        try partial.save(IntervalSet(0..<300))
        partial.mark(IntervalSet(0..<500))
        partial.close()
    }

    private func received(_ store: DiskStore) throws -> IntervalSet? { store.unfinished(at: directory.site)?.received }

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

/// Counts how often names are listed.
private struct NameCountingFileSystem: ForwardingFileSystem {
    let count = Counter()

    func names(in directory: String) throws(FileFailure) -> [String] {
        _ = count.enter()
        return try base.names(in: directory)
    }
}
