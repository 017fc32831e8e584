internal import Foundation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Tests of the records of placed files, and of what they prove.
@Suite(.enabled(if: TemporaryDirectory.hasAttributes), .endsWhenHung)
struct FinishedFileTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private static let validator = EntityTag("\"v1\"").map(Validator.entityTag)

    private static var representation: Representation {
        var representation = SampleObject.first.representation
        representation.validator = validator
        return representation
    }

    private var path: String { directory.destination }

    /// Places the sample object at the paths.
    @discardableResult
    private func place(
        at paths: [String]? = nil, by store: PartialStore = PartialStore(), from location: PartialLocation? = nil,
        representation: Representation = representation
    ) throws -> PartialStore {
        let partial = try store.open(location ?? directory.location)
        try partial.begin(representation)
        try partial.write(.first, 0..<1000)
        for result in partial.place(at: paths ?? [path], length: 1000) { try result.get() }
        return store
    }

    @Test(arguments: [0, PartialFile.bufferedLength], [Durability.powerLoss, .processCrash])
    func `rule 60: a placed file says what it contains`(bufferedLength: Int64, durability: Durability) throws {
        let store = try place(by: PartialStore(durability: durability, bufferedLength: bufferedLength))
        let record = try #require(store.finishedFile(at: path))
        #expect(record.resource == ResourceDigest(directory.location.request))
        #expect(record.validator == Self.validator)
        #expect(record.contentType == "application/octet-stream")
        #expect(record.length == 1000)
        #expect((record.session == nil) == (durability == .powerLoss))
        let inode = try #require(store.recordedFile(at: path)).information.inode
        #expect(record.encoded(inode: inode).count <= FinishedFileRecord.shortLength)
    }

    /// A resource with the same bytes may have been given the file, although the record names another one.
    @Test func `a file whose name was forgotten is not replaced, even if its record names the resource`() throws {
        let (store, names) = (PartialStore(), DirectoryNames(capacity: 2))
        func place() throws -> String {
            let partial = try store.open(directory.location)
            try partial.begin(Self.representation)
            try partial.write(.first, 0..<1000)
            var target = PlacementTarget(
                .directory(directory.path, name: "name", isCallers: true), resource: directory.location.request.key,
                names: names, isFree: { _ in true })
            target.request = directory.location.request
            let path = try partial.place(at: [target], length: 1000)[0].get()
            return PartialNames.lastComponent(of: path)
        }
        #expect(try place() == "name")
        try Data("changed".utf8).write(to: URL(fileURLWithPath: "\(directory.path)/name"))
        #expect(try place() == "name")
        for number in 0..<6 { names.give("/directory/\(number)", to: nil, nil) }
        #expect(names.mayBeForgotten("\(directory.path)/name"))
        try Data("changed".utf8).write(to: URL(fileURLWithPath: "\(directory.path)/name"))
        #expect(try place() == "name-2")
        #expect(directory.bytes(at: "\(directory.path)/name") == Array("changed".utf8))
    }

    @Test func `rule 60: each copy has its own record`() throws {
        let paths = (0..<3).map { "\(directory.path)/copy-\($0)" }
        let store = try place(at: paths)
        #expect(paths.allSatisfy { store.finishedFile(at: $0)?.validator == Self.validator })
        #expect(Set(paths.compactMap { store.recordedFile(at: $0)?.information.inode }).count == 3)
        let later = "\(directory.path)/later"
        _ = store.place(copyOf: paths[1], at: [PlacementTarget(path: later)], for: directory.location)
        #expect(store.finishedFile(at: later)?.validator == Self.validator)
    }

    @Test(arguments: [0, PartialFile.bufferedLength])
    func `rules 49 and 60: a file and its copies have the time of the server if requested, and records that fit`(
        length: Int64
    ) throws {
        let paths = (0..<2).map { "\(directory.path)/copy-\($0)" }
        var store = PartialStore(bufferedLength: length)
        store.attributes.usesLastModified = true
        var representation = Self.representation
        representation.lastModified = "Sun, 06 Nov 1994 08:49:37 GMT"
        try place(at: paths, by: store, representation: representation)
        for path in paths {
            #expect(store.finishedFile(at: path)?.modificationTime == 784_111_777_000_000_000)
        }
    }

    @Test func `rule 49: a time that isn't valid changes nothing`() throws {
        var store = PartialStore()
        store.attributes.usesLastModified = true
        var representation = Self.representation
        representation.lastModified = "yesterday"
        try place(by: store, representation: representation)
        let time = try #require(store.finishedFile(at: path)).modificationTime
        #expect(abs(Double(time) / 1e9 - Date().timeIntervalSince1970) < 3600)
    }

    /// The changes after which a record no longer proves the file.
    enum Change: CaseIterable, Sendable {
        case byte, truncated, longer, touched, replacedByCopy, attributeOfAnother, damagedAttribute, noAttribute
        case hardLink, symbolicLink, groupWritable, worldWritable, missing, directory, pipe
    }

    @Test(arguments: Change.allCases)
    func `boundary 21: by rule 60, a file that anything has changed proves nothing`(change: Change) throws {
        let store = try place()
        let (disk, manager) = (POSIXFileSystem(), FileManager.default)
        let other = "\(directory.path)/other"
        let before = try #require(store.recordedFile(at: path))
        func append(_ text: String, at offset: UInt64) throws {
            let handle = try FileHandle(forUpdating: URL(fileURLWithPath: path))
            try handle.seek(toOffset: offset)
            try handle.write(contentsOf: Data(text.utf8))
            try handle.close()
        }
        func setMode(_ mode: Int) throws {
            // Bits that new files have, too, are the choice of the user.
            try #require(disk.ordinaryPermissions & 0o022 == 0)
            try manager.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        }
        func setAttribute(_ value: [UInt8], at path: String) throws {
            let file = try disk.open(path, .existing)
            defer { disk.close(file) }
            try disk.setAttribute(FinishedFileRecord.attributeName, to: value, of: file)
        }
        let value = try #require(before.record).encoded(inode: before.information.inode)
        switch change {
        case .byte: try append("x", at: 500)
        case .truncated: truncate(path, 999)
        case .longer: try append("x", at: 1000)
        case .touched: try manager.setAttributes([.modificationDate: Date()], ofItemAtPath: path)
        case .replacedByCopy:
            try directory.put(SampleObject.first.bytes(), at: other)
            #expect(rename(other, path) == 0)
        case .attributeOfAnother:
            // The file has the length, the time, and the attribute of the placed one, as `cp --attributes-only` makes it.
            try directory.put(SampleObject.second.bytes(), at: other)
            try setAttribute(value, at: other)
            let times = [timespec(before.information.modificationTime), timespec(before.information.modificationTime)]
            #expect(utimensat(AT_FDCWD, other, times, 0) == 0)
            #expect(try disk.information(at: other)?.modificationTime == before.information.modificationTime)
            #expect(rename(other, path) == 0)
        case .damagedAttribute: try setAttribute(Array(value.dropLast()), at: path)
        case .noAttribute: try setAttribute([], at: path)
        case .hardLink: #expect(link(path, other) == 0)
        case .symbolicLink:
            #expect(rename(path, other) == 0)
            try directory.link(path, to: other)
            #expect(store.finishedFile(at: other) != nil)
        case .groupWritable: try setMode(0o664)
        case .worldWritable: try setMode(0o646)
        case .missing: try manager.removeItem(atPath: path)
        case .directory:
            try manager.removeItem(atPath: path)
            try manager.createDirectory(atPath: path, withIntermediateDirectories: false)
        case .pipe:
            try manager.removeItem(atPath: path)
            #expect(mkfifo(path, 0o600) == 0)
        }
        #expect(store.finishedFile(at: path) == nil)
    }

    @Test func `rule 60: a file of another user proves nothing`() throws {
        try place()
        var disk = PretendingFileSystem(locks: .pretended)
        let user = disk.user
        disk.ownership = { name in name == "file.zip" ? (user + 1, 0o644) : nil }
        #expect(PartialStore(disk: disk, durability: .powerLoss, bootID: "a").finishedFile(at: path) == nil)
    }

    @Test func `rule 60: a file that was not synced proves nothing after a restart of the machine`() throws {
        func store(_ boot: String, _ durability: Durability) -> PartialStore {
            PartialStore(
                disk: PretendingFileSystem(locks: .pretended, volume: .disk), durability: durability, bootID: boot)
        }
        try place(by: store("one", .processCrash))
        #expect(store("one", .processCrash).finishedFile(at: path) != nil)
        #expect(store("one", .powerLoss).finishedFile(at: path) != nil)
        #expect(store("two", .powerLoss).finishedFile(at: path) == nil)
        try place(by: store("one", .powerLoss))
        #expect(store("two", .processCrash).finishedFile(at: path) != nil)
    }

    @Test func `rule 60: bytes of secret headers are recorded only for an account`() throws {
        var location = directory.location
        location.request.hasSecretHeaders = true
        location.secretHeaders = ["Authorization": "secret"]
        #expect(try place(from: location).finishedFile(at: path) == nil)
        location.request.account = "user"
        let record = try #require(try place(from: location).finishedFile(at: path))
        #expect(record.resource == ResourceDigest(location.request))
    }

    /// Properties of bytes that their server has not confirmed under one validator.
    @Test(arguments: [\Representation.cameFromDifferentURL, \.isImported, \.hasUnverifiedCredentials])
    func `rule 60: a validator that was not confirmed for all bytes is not recorded`(
        property: any WritableKeyPath<Representation, Bool> & Sendable
    ) throws {
        var representation = Self.representation
        representation[keyPath: property] = true
        #expect(try placedRecord(representation).validator == nil)
        representation = Self.representation
        representation.unverifiedFrom = 500
        #expect(try placedRecord(representation).validator == nil)
        representation = Self.representation
        representation.contentCoding = "gzip"
        #expect(try placedRecord(representation).validator == nil)
        #expect(try placedRecord(Self.representation).validator != nil)
    }

    private func placedRecord(_ representation: Representation) throws -> FinishedFileRecord {
        try #require(try place(representation: representation).finishedFile(at: path))
    }

    @Test func `rule 60: a volume without attributes stores files without a record`() throws {
        let store = try place(by: PartialStore(disk: AttributeFreeFileSystem(), durability: .powerLoss, bootID: "a"))
        #expect(directory.bytes(at: path) == SampleObject.first.bytes())
        #expect(store.finishedFile(at: path) == nil)
        #expect(PartialStore().finishedFile(at: path) == nil)
    }
}

extension timespec {
    fileprivate init(_ nanoseconds: Int64) {
        self.init(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
    }
}

/// The real file system without extended attributes.
private struct AttributeFreeFileSystem: ForwardingFileSystem {
    func setAttribute(_ name: String, to value: [UInt8], of file: OpenFile) throws(FileFailure) {
        throw FileFailure(.unsupported, errno: 0, operation: "describe", name: file.name, reason: "no attributes")
    }

    func attribute(_ name: String, of file: OpenFile) throws(FileFailure) -> [UInt8]? {
        throw FileFailure(.unsupported, errno: 0, operation: "describe", name: file.name, reason: "no attributes")
    }
}
