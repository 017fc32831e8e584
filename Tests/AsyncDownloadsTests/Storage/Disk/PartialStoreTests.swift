internal import Foundation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Tests of what a store on a real disk keeps and finds.
@Suite("The disk store", .endsWhenHung)
struct PartialStoreTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    @Test func `rule 54: saved bytes are found, and bytes written after the save are not`() throws {
        try leave([0..<300, 500..<600], written: [0..<300, 500..<600, 700..<800])
        let partial = try PartialStore().open(directory.location)
        #expect(partial.finding == .bytes(SampleObject.first.representation, received([0..<300, 500..<600])))
        #expect(try partial.bytes(500..<600) == SampleObject.first.bytes(500..<600))
        try partial.finish(.first, received([0..<300, 500..<600]), at: directory.destination)
        #expect(directory.bytes(at: directory.destination) == SampleObject.first.bytes())
        #expect(try directory.contents == ["file.zip"])
    }

    @Test func `missing directories are created`() throws {
        let partial = try PartialStore().open(.sample(in: "\(directory.path)/a/b/c/"))
        try partial.begin(SampleObject.first.representation)
        try partial.finish(.first, IntervalSet(), at: "\(directory.path)/a/b/c/file.zip")
        #expect(try directory.contents == ["a"])
        #expect(directory.bytes(at: "\(directory.path)/a/b/c/file.zip") == SampleObject.first.bytes())
    }

    @Test func `hidden files are accessible to their owner only`() throws {
        try leave([0..<300])
        for name in try directory.contents {
            let attributes = try FileManager.default.attributesOfItem(atPath: "\(directory.path)/\(name)")
            #expect(attributes[.posixPermissions] as? Int == 0o600, "\(name)")
        }
        #expect(try directory.contents.count == 3)
    }

    @Test func `a partial without saved bytes leaves no files`() throws {
        let untouched = try PartialStore().open(directory.location)
        untouched.close()
        #expect(try directory.contents.isEmpty)
        let begun = try PartialStore().open(directory.location)
        try begun.begin(SampleObject.first.representation)
        try begun.write(.first, 0..<100)
        begun.close()
        #expect(try directory.contents.isEmpty)
    }

    @Test func `a discarded partial leaves no files`() throws {
        try leave([0..<300])
        let partial = try PartialStore().open(directory.location)
        partial.discard()
        #expect(try directory.contents.isEmpty)
        #expect(throws: DownloadError.self) { try partial.write(.first, 0..<1) }
    }

    @Test(arguments: [false, true])
    func `rule 42: a process that ends before it removes the checkpoint of a placed file loses nothing`(
        choosesName: Bool
    ) throws {
        var location = directory.location
        if choosesName { (location.request.destination, location.request.choosesName) = (".", true) }
        let partial = try PartialStore().open(location)
        try partial.begin(SampleObject.first.representation)
        try partial.write(.first, 0..<1000)
        try partial.save(received([0..<1000]))
        partial.close()
        try FileManager.default.moveItem(atPath: directory.partialPath, toPath: directory.destination)
        #expect(try PartialStore().open(location).finding == .nothing)
        #expect(try directory.contents == ["file.zip"])
        #expect(directory.bytes(at: directory.destination) == SampleObject.first.bytes())
    }

    @Test func `files of a process that ended before its first checkpoint are removed`() throws {
        try directory.put([], at: directory.names.lock)
        let stem = directory.names.stem
        let claim = "0000000000000000-0000000000000000"
        for suffix in PartialNames.Suffix.allCases {
            try directory.put([1], at: "\(directory.path)/\(stem)-\(claim)\(suffix.rawValue)")
        }
        // Files with merely similar names belong to other programs.
        let others = [
            "\(stem)-0-0.temp", "\(stem)-\(claim)-backup.partial", "\(stem)x-\(claim).copy", "\(stem)-.partial",
        ]
        for name in others { try directory.put([1], at: "\(directory.path)/\(name)") }
        let partial = try PartialStore().open(directory.location)
        #expect(partial.finding == .nothing)
        partial.close()
        #expect(try Set(directory.contents) == Set(others))
    }

    @Test(arguments: [true, false])
    func `rule 38: a mark is valid on the same boot only`(sameBoot: Bool) throws {
        let files = PretendingFileSystem(locks: .pretended)
        let dead = try PartialStore(disk: files, durability: .powerLoss, bootID: "one").open(directory.location)
        try dead.begin(SampleObject.first.representation)
        try dead.write(.first, 0..<300)
        try dead.save(received([0..<300]))
        try dead.write(.first, 300..<500)
        dead.mark(received([0..<500]))
        let next = try PartialStore(disk: files, durability: .powerLoss, bootID: sameBoot ? "one" : "two")
            .open(directory.location)
        #expect(
            next.finding == .bytes(SampleObject.first.representation, received([sameBoot ? 0..<500 : 0..<300])))
    }

    @Test func `rule 38: a mark before the first checkpoint is written with it`() throws {
        let files = PretendingFileSystem(locks: .pretended)
        let store = PartialStore(disk: files, durability: .powerLoss, bootID: "one")
        let dead = try store.open(directory.location)
        try dead.begin(SampleObject.first.representation)
        try dead.write(.first, 0..<300)
        dead.mark(received([0..<300]))
        try dead.save(received([0..<100]))
        #expect(
            try store.open(directory.location).finding == .bytes(SampleObject.first.representation, received([0..<300]))
        )
    }

    @Test func `rule 38: a mark beyond the end of the file is ignored`() throws {
        let store = PartialStore()
        let partial = try store.open(directory.location)
        try partial.begin(SampleObject.first.representation)
        try partial.write(.first, 0..<300)
        try partial.save(received([0..<300]))
        try partial.write(.first, 300..<500)
        partial.mark(received([0..<500]))
        partial.close()
        let handle = try #require(FileHandle(forWritingAtPath: directory.partialPath))
        try handle.truncate(atOffset: 400)
        try handle.close()
        #expect(
            try store.open(directory.location).finding == .bytes(SampleObject.first.representation, received([0..<300]))
        )
    }

    @Test func `rule 43: the old checkpoint is removed before the first byte of a new representation`() throws {
        try leave([0..<300])
        let partial = try PartialStore().open(directory.location)
        let old = try directory.partialPath
        try partial.begin(SampleObject.second.representation)
        #expect(try directory.contents.count == 2, "only a lock file and a partial file exist")
        #expect(try directory.partialPath != old)
        #expect(directory.bytes(at: try directory.partialPath) == [])
    }

    @Test func `the system provides a constant identifier of the boot`() {
        #expect(POSIXFileSystem.bootID() != nil)
        #expect(POSIXFileSystem.bootID() == POSIXFileSystem.bootID())
    }

    @Test func `saves that are concurrent with writes and marks lose no bytes`() async throws {
        let files = PretendingFileSystem(locks: .pretended)
        let store = PartialStore(disk: files, durability: .powerLoss, bootID: "one")
        let partial = try store.open(directory.location)
        try partial.begin(SampleObject.first.representation)
        try partial.save(IntervalSet())
        let written = SharedIntervals()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for offset in Int64(0)..<1000 {
                    try partial.write(.first, offset..<offset + 1)
                    partial.mark(written.insert(offset..<offset + 1))
                }
            }
            group.addTask {
                for _ in 0..<20 { try partial.save(written.value) }
            }
            try await group.waitForAll()
        }
        // The first process ends without closing its files.
        let next = try store.open(directory.location)
        #expect(next.finding == .bytes(SampleObject.first.representation, IntervalSet(0..<1000)))
        try next.place(at: [directory.destination], length: 1000)[0].get()
        #expect(directory.bytes(at: directory.destination) == SampleObject.first.bytes())
    }

    @Test func `rule 38: bytes that were never synced are not trusted after a restart of the machine`() throws {
        let store = PartialStore(disk: POSIXFileSystem(), durability: .processCrash, bootID: "one")
        try leave([0..<300], store: store)
        #expect(
            try store.open(directory.location).finding == .bytes(SampleObject.first.representation, received([0..<300]))
        )
        let later = PartialStore(disk: POSIXFileSystem(), durability: .processCrash, bootID: "two")
        #expect(try later.open(directory.location).finding == .unusable(.partialMissing, discarded: 300))
        #expect(try directory.contents.isEmpty)
    }

    @Test func `rule 44: a full disk is reported before the first byte`() throws {
        let files = PretendingFileSystem(locks: .pretended, space: 999)
        let partial = try PartialStore(disk: files, durability: .powerLoss, bootID: nil).open(directory.location)
        let error = #expect(throws: DownloadError.self) { try partial.begin(SampleObject.first.representation) }
        #expect(error?.code == .diskFull)
        #expect(throws: DownloadError.self) { try partial.write(.first, 0..<1) }
        partial.close()
        #expect(try directory.contents.isEmpty)
    }

    @Test func `rule 44: an impossible length is refused`() throws {
        let partial = try PartialStore().open(directory.location)
        var representation = SampleObject.first.representation
        representation.length = .max
        let error = #expect(throws: DownloadError.self) { try partial.begin(representation) }
        #expect(error?.code == .diskFull)
    }

    @Test func `rule 44: a destination that is not a file is refused`() throws {
        #expect(PartialStore().refusal(of: directory.destination) == nil)
        try FileManager.default.createDirectory(atPath: directory.destination, withIntermediateDirectories: false)
        #expect(PartialStore().refusal(of: directory.destination)?.code == .destinationUnusable)
    }

    @Test(arguments: [true, false])
    func `rule 54: closing returns what the next opening finds`(isMarked: Bool) throws {
        var files = PretendingFileSystem(locks: .pretended)
        let counter = Counter()
        files.refusal = { path, _ in path.hasSuffix(".temp") && counter.enter() > 1 ? .noSpace : nil }
        let store = PartialStore(disk: files, durability: .powerLoss, bootID: isMarked ? "one" : nil)
        let partial = try store.open(directory.location)
        try partial.begin(SampleObject.first.representation)
        try partial.write(.first, 0..<300)
        try partial.save(received([0..<300]))
        try partial.write(.first, 300..<500)
        partial.mark(received([0..<500]))
        let error = #expect(throws: DownloadError.self) { try partial.save(received([0..<500])) }
        #expect(error?.code == .diskFull)
        let kept = partial.close()
        #expect(kept == received([isMarked ? 0..<500 : 0..<300]))
        #expect(try store.open(directory.location).finding == .bytes(SampleObject.first.representation, kept))
    }

    @Test func `rule 41: allocating blocks does not extend the file`() throws {
        let partial = try PartialStore().open(directory.location)
        var representation = SampleObject.first.representation
        representation.length = 4 << 20
        try partial.begin(representation)
        try partial.write(.first, 0..<100)
        #expect(directory.bytes(at: try directory.partialPath)?.count == 100)
    }

    private func received(_ ranges: [Range<Int64>]) -> IntervalSet {
        ranges.reduce(into: IntervalSet()) { $0.insert($1) }
    }

    /// Creates a partial of the first object and closes it.
    private func leave(
        _ saved: [Range<Int64>], written: [Range<Int64>]? = nil, store: PartialStore = PartialStore()
    ) throws {
        let partial = try store.open(directory.location)
        #expect(partial.finding == .nothing)
        try partial.begin(SampleObject.first.representation)
        for range in written ?? saved { try partial.write(.first, range) }
        try partial.save(received(saved))
        partial.close()
    }
}
