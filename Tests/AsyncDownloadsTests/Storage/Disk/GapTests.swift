internal import Foundation
internal import TestSupport
internal import Testing

@testable internal import AsyncDownloads

/// Tests of whether bytes may be written far behind the others.
@Suite(.endsWhenHung)
struct GapTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    @Test(
        arguments: [(.disk, true), (.diskWithoutGaps, false), (.memory, true), (.other, true)] as [(VolumeKind, Bool)])
    func `a file system without sparse files allows no gaps`(_ volume: VolumeKind, _ allowsGaps: Bool) throws {
        var files = PretendingFileSystem(locks: .pretended)
        files.volume = volume
        let partial = try PartialStore(disk: files, durability: .processCrash, bootID: "boot").open(directory.location)
        try partial.begin(SampleObject.first.representation)
        #expect(partial.allowsGaps == allowsGaps)
        partial.discard()
    }

    @Test func `a body in memory allows no gaps`() throws {
        let store = PartialStore().keeping(PartialBodyStore(byteLimit: 1 << 20), spilledIn: directory.path)
        var location = directory.location
        location.medium = .memory
        let partial = try store.open(location)
        try partial.begin(SampleObject.first.representation)
        #expect(!partial.allowsGaps)
        #expect(try partial.move(to: location))
        #expect(partial.allowsGaps)
        partial.discard()
    }
}
