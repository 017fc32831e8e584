internal import Foundation
internal import TestSupport
internal import Testing

@testable internal import AsyncDownloads

/// Tests of the permissions of copied files and of the cost of listing.
@Suite(.endsWhenHung)
struct CopiesAndListsTests {
    private let directory: TemporaryDirectory
    private let disk = POSIXFileSystem()

    init() throws { directory = try TemporaryDirectory() }

    @Test func `boundary 20: a copy is accessible only to its owner from the beginning`() throws {
        let path = "\(directory.path)/source"
        try directory.put([1, 2, 3], at: path)
        let source = try disk.open(path, .reading)
        let copy = try disk.duplicate(source, to: "\(directory.path)/copy")
        #expect(try disk.information(of: copy).permissions == 0o600)
        disk.close(source)
        disk.close(copy)
    }

    @Test func `boundary 20: the number of directory reads does not grow with the number of checkpoints`() throws {
        for number in 0..<50 {
            var location = directory.location
            location.baseName = "\(number)"
            try PartialStore(durability: .processCrash).leaveUnfinished(at: location)
        }
        let files = SharedDirectoryFileSystem()
        let store = PartialStore(disk: files, durability: .processCrash, bootID: POSIXFileSystem.bootID())
        #expect(try store.unfinished(in: directory.path, trustsDestinations: false).count == 50)
        #expect(files.takeListingCount() == 1)
    }
}
