internal import Foundation
internal import TestSupport
internal import Testing

@testable internal import AsyncDownloads

/// Tests that no directory is listed for each file in it, because that takes quadratic time.
@Suite("Listings of directories", .endsWhenHung)
struct DirectoryListingTests {
    private let directory: TemporaryDirectory
    private let other: TemporaryDirectory
    private let disk: SharedDirectoryFileSystem
    private let saved = PartialFinding.bytes(SampleObject.first.representation, IntervalSet(0..<300))

    init() throws {
        directory = try TemporaryDirectory()
        other = try TemporaryDirectory()
        disk = SharedDirectoryFileSystem(otherVolume: other.path)
    }

    private var store: PartialStore { store(disk) }

    private func store(_ disk: SharedDirectoryFileSystem, bufferedLength: Int64 = 0) -> PartialStore {
        PartialStore(disk: disk, durability: .powerLoss, bootID: "boot", bufferedLength: bufferedLength)
    }

    @Test func `a paused download is resumed without listing its directory`() throws {
        try store.leaveUnfinished(at: directory.location)
        for _ in 0..<3 {
            let partial = try store.open(directory.location)
            #expect(partial.finding == saved)
            try partial.save(IntervalSet(0..<300))
            partial.close()
        }
        #expect(store.unfinished(at: directory.location)?.received == IntervalSet(0..<300))
        let partial = try store.open(directory.location)
        try partial.finish(.first, IntervalSet(0..<300), at: directory.destination)
        #expect(disk.takeListingCount() == 0)
        #expect(try directory.contents == ["file.zip"])
    }

    @Test func `files that a killed process left beside its checkpoint are removed by name`() throws {
        try store.leaveUnfinished(at: directory.location)
        let claim = try ownClaim
        for suffix in [PartialNames.Suffix.temporary, .copy] {
            try directory.put([1], at: directory.names.path(claim, suffix))
        }
        try store.open(directory.location).close()
        #expect(try directory.contents.count == 3)
        #expect(disk.takeListingCount() == 0)
    }

    @Test func `a file is copied to another volume without listing its directory`() throws {
        try store.leaveUnfinished(at: directory.location)
        // The copy of a killed process.
        try other.put([1], at: directory.names.path(try ownClaim, .copy, in: other.path))
        let partial = try store.open(directory.location)
        try partial.write(.first, 300..<1000)
        for result in partial.place(at: [other.destination, directory.destination], length: 1000) { try result.get() }
        #expect(disk.takeListingCount() == 0)
        #expect(try other.contents == ["file.zip"])
        #expect(other.bytes(at: other.destination) == SampleObject.first.bytes())
        #expect(try directory.contents == ["file.zip"])
    }

    @Test func `a finished file, and one in memory, are copied without listing a directory`() throws {
        let store = store(disk, bufferedLength: SampleObject.length)
        let partial = try store.open(directory.location)
        try partial.begin(SampleObject.first.representation)
        try partial.write(.first, 0..<1000)
        for result in partial.place(at: [directory.destination, other.destination], length: 1000) { try result.get() }
        let second = "\(other.path)/second.zip"
        let results = store.place(
            copyOf: directory.destination, at: [PlacementTarget(path: second)], for: directory.location)
        for result in results { _ = try result.get() }
        #expect(disk.takeListingCount() == 0)
        #expect(try other.contents == ["file.zip", "second.zip"])
    }

    @Test func `leftovers of many downloads are looked for with one listing`() throws {
        for number in 0..<10 {
            var location = directory.location
            location.baseName = "\(number)"
            try store.leaveUnfinished(at: location)
        }
        _ = disk.takeListingCount()
        let later = HTTPDate(secondsSinceEpoch: SystemTimeSource().date.secondsSinceEpoch + 60)
        #expect(try store.removeLeftovers(in: directory.path, writtenBefore: later) == RemovedLeftovers())
        #expect(disk.takeListingCount() == 1)
        #expect(try directory.contents.count == 30)
    }

    @Test func `a file of a process without a lock is found, and gets the usual name`() throws {
        try store(SharedDirectoryFileSystem(hasLocks: false)).leaveUnfinished(at: directory.location)
        let claim = try ownClaim
        for listings in [true, false] {
            let partial = try store.open(directory.location)
            #expect(partial.finding == saved)
            partial.close()
            #expect((disk.takeListingCount() > 0) == listings)
        }
        #expect(try ownClaim.token == claim.token)
        #expect(try ownClaim.owner != claim.owner)
    }

    @Test func `rule 50: a process without a lock takes the file from one that has the usual name`() throws {
        let first = try store.open(directory.location)
        try first.begin(SampleObject.first.representation)
        try first.write(.first, 0..<300)
        try first.save(IntervalSet(0..<300))
        let second = try store(SharedDirectoryFileSystem(hasLocks: false)).open(directory.location)
        #expect(second.finding == saved)
        let error = #expect(throws: DownloadError.self) { try first.save(IntervalSet(0..<300)) }
        #expect(error?.code == .partialInUse)
        second.close()
    }

    /// The claim in the name of the only partial file.
    private var ownClaim: PartialNames.Claim {
        get throws {
            try #require(directory.names.claim(from: PartialNames.lastComponent(of: directory.partialPath)))
        }
    }
}
