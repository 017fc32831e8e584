internal import Foundation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// The lock file of a buffered partial, which becomes the file.
extension BufferedPartialTests {
    @Test func `a lock file with bytes of a killed process is used again`() throws {
        try directory.put(SampleObject.second.bytes(), at: directory.names.lock)
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: directory.names.lock)
        let partial = try open()
        let attributes = try FileManager.default.attributesOfItem(atPath: directory.names.lock)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        #expect(partial.finding == .nothing)
        #expect(directory.bytes(at: directory.names.lock) == [], "no one needs the bytes")
        try partial.begin(representation(length: 1000))
        try partial.finish(.first, IntervalSet(), at: directory.destination)
        #expect(try directory.contents == ["file.zip"])
        #expect(directory.bytes(at: directory.destination) == SampleObject.first.bytes())
    }

    @Test func `a lock file with another name keeps its bytes`() throws {
        let mine = directory.path + "/mine.txt"
        try directory.put(SampleObject.second.bytes(), at: mine)
        try FileManager.default.linkItem(atPath: mine, toPath: directory.names.lock)
        try open().close()
        #expect(directory.bytes(at: mine) == SampleObject.second.bytes())
    }

    @Test func `bytes whose lock file was removed are placed`() throws {
        let partial = try open()
        try partial.begin(representation(length: 1000))
        try partial.write(.first, 0..<1000)
        try FileManager.default.removeItem(atPath: directory.names.lock)
        try partial.place(at: [directory.destination], length: 1000)[0].get()
        #expect(directory.bytes(at: directory.destination) == SampleObject.first.bytes())
        #expect(try directory.contents == ["file.zip"])
    }

    @Test func `a lock file that another owner creates meanwhile stays`() throws {
        var files = PretendingFileSystem(locks: .working {})
        let lock = directory.names.lock
        files.syncing = { name in
            if name.hasSuffix(".partial") { _ = FileManager.default.createFile(atPath: lock, contents: nil) }
            return nil
        }
        let store = PartialStore(
            disk: files, durability: .powerLoss, bootID: "one", bufferedLength: SampleObject.length)
        let partial = try store.open(directory.location)
        try partial.begin(representation(length: 1000))
        try partial.write(.first, 0..<1000)
        try FileManager.default.removeItem(atPath: lock)
        try partial.place(at: [directory.destination], length: 1000)[0].get()
        #expect(directory.bytes(at: directory.destination) == SampleObject.first.bytes())
        #expect(try directory.contents.sorted() == [Self.lockName, "file.zip"])
    }

    @Test func `a lock file of another owner is neither placed nor emptied`() throws {
        let partial = try open()
        try partial.begin(representation(length: 1000))
        try partial.write(.first, 0..<1000)
        try FileManager.default.removeItem(atPath: directory.names.lock)
        let other = try open()
        try other.begin(representation(length: 1000))
        let error = #expect(throws: DownloadError.self) {
            try partial.place(at: [directory.destination], length: 1000)[0].get()
        }
        #expect(error?.code == .partialInUse)
        #expect(throws: DownloadError.self) { try partial.save(IntervalSet(0..<1000)) }
        #expect(partial.close().isEmpty)
        try other.finish(.first, IntervalSet(), at: directory.destination)
        #expect(directory.bytes(at: directory.destination) == SampleObject.first.bytes())
        #expect(try directory.contents == ["file.zip"])
    }

    @Test func `where locks may not work, bytes are in a partial file with a random name`() throws {
        let files = PretendingFileSystem(locks: .pretended, volume: .other)
        let store = PartialStore(disk: files, durability: .processCrash, bootID: "boot", bufferedLength: 1000)
        let partial = try store.open(directory.location)
        try partial.begin(representation(length: 1000))
        #expect(try directory.contents.count { $0.hasSuffix(".partial") } == 1)
        partial.discard()
    }
}
