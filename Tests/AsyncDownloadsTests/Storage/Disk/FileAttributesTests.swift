internal import Foundation
internal import TestSupport
internal import Testing

@testable internal import AsyncDownloads

/// Tests of the attributes of placed files.
@Suite(.endsWhenHung)
struct FileAttributesTests {
    private let directory: TemporaryDirectory
    private let disk = AttributeRecordingFileSystem()

    init() throws { directory = try TemporaryDirectory() }

    /// Attributes with a value that isn't the default.
    private static var attributes: FileAttributes {
        var attributes = FileAttributes()
        attributes.protection = .complete
        return attributes
    }

    /// Default attributes are set as well, because an unfinished file has other attributes.
    @Test(arguments: [0, PartialFile.bufferedLength], [FileAttributes(), attributes])
    func `a file and its copies get their attributes before their names`(
        bufferedLength: Int64, attributes: FileAttributes
    ) throws {
        var store = PartialStore(disk: disk, durability: .powerLoss, bootID: "a", bufferedLength: bufferedLength)
        store.attributes = attributes
        let directories = ["one", "two"].map { "\(directory.path)/\($0)" }
        let partial = try store.open(directory.location)
        try partial.begin(SampleObject.first.representation)
        try partial.write(.first, 0..<1000)
        for result in partial.place(at: directories.map { "\($0)/file" }, length: 1000) { try result.get() }
        let expected = directories.flatMap { directory -> [AttributeRecordingFileSystem.Change] in
            [.attributes(attributes, directory: directory), .rename("\(directory)/file")]
        }
        #expect(disk.changes == expected)
    }

    @Test func `a background session sets the attributes of each destination before the file is there`() throws {
        let (spool, home) = ("\(directory.path)/spool", "\(directory.path)/home")
        for path in [spool, home] {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        }
        try directory.put([1, 2, 3], at: "\(spool)/1-1.body")
        let inode = try #require(try disk.information(at: "\(spool)/1-1.body")).inode
        let body = ReceivedBody(
            fileName: "1-1.body", inode: inode,
            info: BackgroundBodyInfo(byteCount: 3, finalURL: "https://example.org/1"))
        var record = BackgroundRecord(id: 1, resource: BackgroundResource(url: "https://example.org/1"))
        record.stage = .received(body)
        for (id, attributes) in [(1, FileAttributes()), (2, Self.attributes)] {
            var delivery = BackgroundDelivery(
                id: id, destination: ContainerPath(base: .home, relative: "\(id)/file"))
            delivery.attributes = attributes
            record.deliveries.append(delivery)
        }
        let delivery = SpoolDelivery(
            spool: Spool(disk: disk, directory: spool), containers: FixedContainers(home: home))
        guard case .delivered = delivery.deliver(record, body) else {
            Issue.record("the file exists")
            return
        }
        #expect(
            disk.changes == [
                .attributes(FileAttributes(), directory: "\(home)/1"), .rename("\(home)/1/file"),
                .attributes(Self.attributes, directory: "\(home)/2"), .rename("\(home)/2/file"),
            ])
    }

    @Test func `a background session records the attributes for later processes`() async throws {
        let app = try BackgroundApp()
        let life = app.launch { $0.fileAttributes = Self.attributes }
        life.downloader.start(app.request(1))
        try await life.settle()
        life.kill()
        try await app.launch().settle()
        #expect(app.journal?.records.flatMap(\.deliveries).map(\.attributes) == [Self.attributes])
    }

    @Test func `attributes of another version of the package are read with defaults`() throws {
        let recorded = Data(#"{"isExcludedFromBackup":true,"later":1}"#.utf8)
        var attributes = FileAttributes()
        attributes.isExcludedFromBackup = true
        #expect(try JSONDecoder().decode(FileAttributes.self, from: recorded) == attributes)
    }
}
