internal import Foundation
internal import TestSupport
internal import Testing

@testable internal import AsyncDownloads

/// Tests of destinations that an app in a sandbox may access, although it may not access their directory.
@Suite(.endsWhenHung)
struct SandboxedDestinationTests {
    private let partials: TemporaryDirectory
    private let documents: TemporaryDirectory

    init() throws {
        partials = try TemporaryDirectory()
        documents = try TemporaryDirectory()
    }

    @Test(arguments: [false, true])
    func `rule 42: a file in a directory that may not be read is synced again under its name`(fails: Bool) throws {
        let (path, counter) = (documents.path, Counter())
        var files = PretendingFileSystem(locks: .working {})
        files.refusal = { asked, _ in asked == path ? .denied : nil }
        files.syncing = { name in
            guard name == "file.zip" else { return nil }
            _ = counter.enter()
            return fails ? .other : nil
        }
        let result = try whole(on: files).place(at: [documents.destination], length: 1000)[0]
        let expected: DownloadError.Code? = fails ? .permissionDenied : nil
        #expect(result.failure?.code == expected)
        #expect(counter.count == 1)
        #expect(documents.bytes(at: documents.destination) == SampleObject.first.bytes())
    }

    private func store(on disk: any FileSystem, bufferedLength: Int64 = 0) -> PartialStore {
        PartialStore(disk: disk, durability: .powerLoss, bootID: "boot", bufferedLength: bufferedLength)
    }

    private func whole(on disk: any FileSystem, bufferedLength: Int64 = 0) throws -> PartialFile {
        let partial = try store(on: disk, bufferedLength: bufferedLength).open(partials.location)
        try partial.begin(SampleObject.first.representation)
        try partial.write(.first, 0..<1000)
        return partial
    }
}
