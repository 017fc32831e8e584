internal import Foundation
internal import TestSupport
internal import Testing

@testable internal import AsyncDownloads

/// Tests of the disk space of unfinished downloads, and of the search through directories.
@Suite(.endsWhenHung)
struct DiskUsageTests {
    private let directory: TemporaryDirectory
    private let store = PartialStore(disk: BlockFileSystem(), durability: .processCrash, bootID: "a")

    init() throws { directory = try TemporaryDirectory() }

    @Test func `received bytes, their blocks, and other hidden files are counted separately`() throws {
        try store.leaveUnfinished(at: directory.location)
        let names = directory.names
        let checkpoint = try #require(try store.disk.information(at: names.checkpoint))
        let (leftover, plain) = (names.path(.new(), .partial), "\(directory.path)/.plain.partial")
        try directory.put([UInt8](repeating: 1, count: 5000), at: leftover)
        try directory.put([1], at: plain)
        try directory.link(names.path(.new(), .copy), to: plain)
        #expect(
            try store.diskUsage(in: directory.path)
                == DiskUsage(
                    downloadCount: 1, receivedByteCount: 300, allocatedByteCount: 4096 + checkpoint.allocatedSize,
                    otherFileCount: 1, otherAllocatedByteCount: 8192))
    }

    @Test func `the files of a running download count as others until its bytes are recorded`() throws {
        let partial = try store.open(directory.location)
        try partial.begin(SampleObject.first.representation)
        try partial.write(.first, 0..<300)
        #expect(try store.diskUsage(in: directory.path).receivedByteCount == 0)
        try partial.save(IntervalSet(0..<300))
        let usage = try store.diskUsage(in: directory.path)
        #expect(usage.downloadCount == 1)
        #expect(usage.receivedByteCount == 300)
        #expect(usage.otherFileCount == 0)
        partial.close()
    }

    @Test func `files of another user are not counted`() throws {
        try store.leaveUnfinished(at: directory.location)
        var disk = PretendingFileSystem(locks: .pretended)
        let user = disk.user
        // The file that shows which owner new files have is this user's.
        disk.ownership = { name in name.hasSuffix(".temp") ? nil : (user + 1, 0o600) }
        let store = PartialStore(disk: disk, durability: .processCrash, bootID: "a")
        #expect(try store.diskUsage(in: directory.path) == DiskUsage())
    }

    @Test func `subdirectories are searched on request, and links are not followed`() throws {
        let elsewhere = try TemporaryDirectory()
        for path in [directory.path, "\(directory.path)/a", "\(directory.path)/a/.b", elsewhere.path] {
            try leaveUnfinished(in: path)
        }
        try directory.link("\(directory.path)/link", to: elsewhere.path)
        #expect(try store.diskUsage(in: directory.path).downloadCount == 1)
        #expect(try store.diskUsage(in: directory.path, includingSubdirectories: true).downloadCount == 3)
    }

    @Test func `subdirectories are searched up to a depth`() throws {
        var path = directory.path
        for _ in 0..<PartialStore.searchedDepth { path += "/d" }
        try leaveUnfinished(in: "\(path)/d")
        #expect(try store.diskUsage(in: directory.path, includingSubdirectories: true).downloadCount == 0)
        try leaveUnfinished(in: path)
        #expect(try store.diskUsage(in: directory.path, includingSubdirectories: true).downloadCount == 1)
    }

    @Test func `a missing directory has no files, and a file is not a directory`() throws {
        #expect(try store.diskUsage(in: "\(directory.path)/missing") == DiskUsage())
        try directory.put([], at: directory.destination)
        let error = #expect(throws: DownloadError.self) { try store.diskUsage(in: directory.destination) }
        #expect(error?.code == .destinationUnusable)
    }

    private func leaveUnfinished(in path: String) throws {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        try store.leaveUnfinished(at: .sample(in: path))
    }
}

/// The real file system with blocks of 4 KiB.
private struct BlockFileSystem: ForwardingFileSystem {
    func information(at path: String) throws(FileFailure) -> FileInformation? {
        var information = try base.information(at: path)
        if let size = information?.size { information?.allocatedSize = (size + 4095) / 4096 * 4096 }
        return information
    }
}
