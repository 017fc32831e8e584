internal import Foundation
internal import TestSupport
internal import Testing

@testable internal import AsyncDownloads

/// Tests of files that another user creates at known names in a shared directory, and that cannot be removed.
@Suite(.endsWhenHung)
struct SharedDirectoryTests {
    private let directory: TemporaryDirectory
    private let victims: PlantedFile.Victims
    private let disk: SharedDirectoryFileSystem
    private let other: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
        other = try TemporaryDirectory()
        victims = try PlantedFile.Victims(in: URL(fileURLWithPath: "\(other.path)/v"))
        disk = SharedDirectoryFileSystem(otherVolume: other.path)
    }

    private var store: PartialStore { PartialStore(disk: disk, durability: .powerLoss, bootID: "boot") }

    /// The kinds of planted files; nil is a regular file.
    static let kinds: [PlantedFile?] = [nil] + PlantedFile.allCases

    private func plant(_ kind: PlantedFile?, at path: String) throws {
        if let kind { try kind.plant(at: path, victims) } else { try directory.put("{}\n".utf8, at: path) }
        disk.giveAway(path)
    }

    @Test(arguments: kinds)
    func `boundary 11: a download continues although another user has the checkpoint's name`(
        _ kind: PlantedFile?
    ) throws {
        try plant(kind, at: directory.names.checkpoint)
        let representation = SampleObject.first.representation
        let first = try store.open(directory.location)
        #expect(first.finding == .unusable(.checkpointCorrupt, discarded: 0))
        try first.begin(representation)
        try first.write(.first, 0..<300)
        try first.save(IntervalSet(0..<300))
        try first.write(.first, 300..<500)
        first.mark(IntervalSet(0..<500))
        #expect(store.unfinished(at: directory.location)?.received == IntervalSet(0..<500))
        #expect(first.close() == IntervalSet(0..<500))

        let listed = try store.unfinished(in: directory.path, trustsDestinations: false)
        #expect(listed.map(\.received) == [IntervalSet(0..<500)])
        let later = HTTPDate(secondsSinceEpoch: SystemTimeSource().date.secondsSinceEpoch + 60)
        #expect(try store.removeLeftovers(in: directory.path, writtenBefore: later) == RemovedLeftovers())

        let second = try store.open(directory.location)
        #expect(second.finding == .bytes(representation, IntervalSet(0..<500)))
        try second.save(IntervalSet(0..<500))
        try second.rollBack(to: IntervalSet(0..<400))
        second.close()
        let third = try store.open(directory.location)
        #expect(third.finding == .bytes(representation, IntervalSet(0..<400)))
        try third.finish(.first, IntervalSet(0..<400), at: directory.destination)
        #expect(directory.bytes(at: directory.destination) == SampleObject.first.bytes())
        let planted = PartialNames.lastComponent(of: directory.names.checkpoint)
        #expect(try Set(directory.contents).subtracting([lockName]) == [planted, "file.zip"])
        #expect(try victims.areUntouched)
    }

    @Test func `boundary 11: bytes before the first save survive although another user has the checkpoint's name`()
        throws
    {
        try plant(nil, at: directory.names.checkpoint)
        let representation = Representation(
            finalURL: "http://a.example/x", validator: .lastModified("Fri, 16 Apr 2010 17:23:13 GMT"), length: 5 << 20)
        let first = try store.open(directory.location)
        try first.begin(representation)
        try first.write(.first, 0..<300)
        first.mark(IntervalSet(0..<300))
        first.close()
        let second = try store.open(directory.location)
        #expect(second.finding == .bytes(representation, IntervalSet(0..<300)))
        second.discard()
        #expect(try directory.contents.allSatisfy { $0.hasSuffix(".checkpoint") || $0.hasSuffix(".lock") })
        #expect(try directory.contents.count { $0.hasSuffix(".checkpoint") } == 1, "the planted one")
    }

    @Test func `boundary 11: a checkpoint returns to its usual name when the planted file is gone`() throws {
        try plant(nil, at: directory.names.checkpoint)
        try store.leaveUnfinished(at: directory.location)
        try FileManager.default.removeItem(atPath: directory.names.checkpoint)
        try store.open(directory.location).close()
        let store = PartialStore(disk: POSIXFileSystem(), durability: .powerLoss, bootID: "boot")
        #expect(store.unfinished(at: directory.location)?.received == IntervalSet(0..<300))
        #expect(try directory.contents.count == 3)
        try store.open(directory.location).discard()
        #expect(try directory.contents.isEmpty)
    }

    @Test(arguments: kinds)
    func `boundary 11: a checkpoint is saved although another user has its temporary name`(
        _ kind: PlantedFile?
    ) throws {
        let partial = try store.open(directory.location)
        try partial.begin(SampleObject.first.representation)
        try partial.write(.first, 0..<300)
        let path = try directory.partialPath.replacing(".partial", with: ".temp")
        try plant(kind, at: path)
        try partial.save(IntervalSet(0..<300))
        try partial.finish(.first, IntervalSet(0..<300), at: directory.destination)
        #expect(directory.bytes(at: directory.destination) == SampleObject.first.bytes())
        #expect(try Set(directory.contents) == [PartialNames.lastComponent(of: path), "file.zip"])
        #expect(try victims.areUntouched)
    }

    @Test(arguments: kinds)
    func `boundary 11: a file is copied although another user has the name of the copy`(_ kind: PlantedFile?) throws {
        let partial = try store.open(directory.location)
        try partial.begin(SampleObject.first.representation)
        try partial.write(.first, 0..<1000)
        let name = PartialNames.lastComponent(of: try directory.partialPath.replacing(".partial", with: ".copy"))
        try plant(kind, at: "\(other.path)/\(name)")
        try partial.place(at: [other.destination], length: 1000)[0].get()
        #expect(other.bytes(at: other.destination) == SampleObject.first.bytes())
        #expect(try Set(other.contents) == [name, "file.zip", "v"])
        #expect(try directory.contents.isEmpty)
        #expect(try victims.areUntouched)
    }

    @Test(arguments: kinds)
    func `boundary 11: bytes are found although another user has the usual name of their file`(
        _ kind: PlantedFile?
    ) throws {
        // Without a lock, the file has a random name.
        let lockless = SharedDirectoryFileSystem(hasLocks: false)
        try PartialStore(disk: lockless, durability: .powerLoss, bootID: "boot").leaveUnfinished(at: directory.location)
        let path = try directory.partialPath
        let claim = try #require(directory.names.claim(from: PartialNames.lastComponent(of: path)))
        try plant(kind, at: path.replacing(claim.owner, with: String(repeating: "0", count: 16)))
        try plant(nil, at: path.replacing(claim.owner, with: String(repeating: "f", count: 16)))
        for _ in 0..<2 {
            let partial = try store.open(directory.location)
            #expect(partial.finding == .bytes(SampleObject.first.representation, IntervalSet(0..<300)))
            partial.close()
        }
        #expect(try victims.areUntouched)
    }

    @Test func `boundary 11: a checkpoint of another user is not used under any name`() throws {
        try store.leaveUnfinished(at: directory.location)
        let bytes = try #require(directory.bytes(at: directory.names.checkpoint))
        try plant(nil, at: directory.names.checkpoint)
        let path = try directory.partialPath.replacing(".partial", with: ".checkpoint")
        try directory.put(bytes, at: path)
        disk.giveAway(path)
        #expect(try store.unfinished(in: directory.path, trustsDestinations: false).isEmpty)
        #expect(store.unfinished(at: directory.location) == nil)
        let partial = try store.open(directory.location)
        #expect(partial.finding == .unusable(.checkpointCorrupt, discarded: 300))
        try partial.begin(SampleObject.second.representation)
        try partial.finish(.second, IntervalSet(), at: directory.destination)
        #expect(directory.bytes(at: directory.destination) == SampleObject.second.bytes())
        #expect(directory.bytes(at: path) == bytes)
    }

    private var lockName: String { PartialNames.lastComponent(of: directory.names.lock) }
}
