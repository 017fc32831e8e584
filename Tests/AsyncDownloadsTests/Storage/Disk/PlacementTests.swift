internal import Foundation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Where finished files go on a real disk (rules 42 and 46).
@Suite("Placing", .endsWhenHung)
struct PlacementTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    @Test("replaces an existing file, which is untouched until then")
    func replaces() throws {
        try directory.put("old".utf8, at: directory.destination)
        let partial = try whole()
        #expect(directory.bytes(at: directory.destination) == Array("old".utf8))
        try partial.place(at: [directory.destination], length: 1000)[0].get()
        #expect(directory.bytes(at: directory.destination) == SampleObject.first.bytes())
        #expect(try directory.contents == ["file.zip"])
    }

    @Test("gives the file the permissions of an ordinary one")
    func permissions() throws {
        try whole().place(at: [directory.destination], length: 1000)[0].get()
        let reference = "\(directory.path)/reference"
        #expect(FileManager.default.createFile(atPath: reference, contents: Data()))
        let modes = try [directory.destination, reference].map {
            try FileManager.default.attributesOfItem(atPath: $0)[.posixPermissions] as? Int
        }
        #if os(Linux)
        #expect(modes[0] == modes[1])
        #else
        #expect(modes[0] == 0o644)
        #endif
    }

    @Test("waits for a descriptor to sync the directory with, since the file cannot be taken back (rule 42)")
    func noDescriptor() throws {
        let (path, counter) = (directory.path, Counter())
        var files = PretendingFileSystem(locks: .pretended)
        files.refusal = { asked, _ in asked == path && counter.enter() <= 3 ? .tooManyOpenFiles : nil }
        let partial = try DiskStore(disk: files, durability: .powerLoss, bootID: "boot").open(directory.location)
        try partial.begin(SampleObject.first.representation)
        try partial.finish(.first, IntervalSet(), at: directory.destination)
        #expect(counter.enter() == 5, "the fourth attempt succeeds")
        #expect(try directory.contents == ["file.zip"])
    }

    @Test("serves many destinations with files of their own")
    func many() throws {
        let paths = (0..<4).map { "\(directory.path)/copy-\($0).zip" }
        for result in try whole().place(at: paths, length: 1000) { try result.get() }
        for path in paths { #expect(directory.bytes(at: path) == SampleObject.first.bytes()) }
        #expect(try directory.contents.count == 4)
        // No two are one file.
        try directory.put("x".utf8, at: paths[0])
        #expect(directory.bytes(at: paths[1]) == SampleObject.first.bytes())
    }

    @Test("refuses what is no file, and keeps the bytes", arguments: ["directory", "plain/file", "pipe"])
    func refuses(name: String) throws {
        try FileManager.default.createDirectory(
            atPath: "\(directory.path)/directory", withIntermediateDirectories: true)
        #expect(mkfifo("\(directory.path)/pipe", 0o600) == 0)
        try directory.put("x".utf8, at: "\(directory.path)/plain")
        let partial = try whole()
        try partial.save(IntervalSet(0..<1000))
        let result = partial.place(at: ["\(directory.path)/\(name)"], length: 1000)[0]
        #expect(throws: DownloadError.self) { try result.get() }
        if case .failure(let error) = result { #expect(error.code == .destinationUnusable) }
        // It can still be placed elsewhere, now and later.
        partial.close()
        let again = try DiskStore().open(directory.location)
        #expect(again.finding == .bytes(SampleObject.first.representation, IntervalSet(0..<1000)))
        try again.place(at: [directory.destination], length: 1000)[0].get()
        #expect(directory.bytes(at: directory.destination) == SampleObject.first.bytes())
    }

    @Test("serves the destinations that it can")
    func someFail() throws {
        try directory.put("x".utf8, at: "\(directory.path)/plain")
        let paths = ["\(directory.path)/plain/file", directory.destination, "\(directory.path)/copy.zip"]
        let results = try whole().place(at: paths, length: 1000)
        #expect(results.map(\.isFailure) == [true, false, false])
        #expect(directory.bytes(at: paths[1]) == SampleObject.first.bytes())
        #expect(directory.bytes(at: paths[2]) == SampleObject.first.bytes())
        #expect(try directory.contents == ["copy.zip", "file.zip", "plain"])
    }

    @Test("makes the directories that a destination is in")
    func makesDirectories() throws {
        let paths = ["\(directory.path)/one/two/file", "\(directory.path)/three/file"]
        for result in try whole().place(at: paths, length: 1000) { try result.get() }
        for path in paths { #expect(directory.bytes(at: path) == SampleObject.first.bytes()) }
    }

    @Test("replaces a symbolic link itself and leaves alone what it leads to")
    func symbolicLink() throws {
        let victim = "\(directory.path)/victim"
        try directory.put("victim".utf8, at: victim)
        try directory.link(directory.destination, to: victim)
        try whole().place(at: [directory.destination], length: 1000)[0].get()
        #expect(directory.bytes(at: victim) == Array("victim".utf8))
        #expect(throws: (any Error).self) {
            try FileManager.default.destinationOfSymbolicLink(atPath: directory.destination)
        }
        #expect(directory.bytes(at: directory.destination) == SampleObject.first.bytes())
    }

    @Test("refuses a file that is shorter than it must be")
    func tooShort() throws {
        let partial = try whole()
        #expect(partial.place(at: [directory.destination], length: 1001)[0].isFailure)
        #expect(directory.bytes(at: directory.destination) == nil)
    }

    @Test("cuts what is behind the end (rule 41)")
    func tooLong() throws {
        let partial = try whole()
        try partial.write(.first, 1000..<1200)
        try partial.place(at: [directory.destination], length: 1000)[0].get()
        #expect(directory.bytes(at: directory.destination) == SampleObject.first.bytes())
    }

    @Test("copies to another device", .enabled(if: otherDevice != nil))
    func copiesToOtherDevice() throws {
        let other = try TemporaryDirectory(in: try #require(Self.otherDevice))
        let partial = try whole()
        try partial.save(IntervalSet(0..<1000))
        for result in partial.place(at: [other.destination, directory.destination], length: 1000) { try result.get() }
        #expect(other.bytes(at: other.destination) == SampleObject.first.bytes())
        #expect(directory.bytes(at: directory.destination) == SampleObject.first.bytes())
        #expect(try other.contents == ["file.zip"])
        #expect(try directory.contents == ["file.zip"])
    }

    @Test("to another device alone removes the file here", .enabled(if: otherDevice != nil))
    func onlyOtherDevice() throws {
        let other = try TemporaryDirectory(in: try #require(Self.otherDevice))
        try whole().place(at: [other.destination], length: 1000)[0].get()
        #expect(other.bytes(at: other.destination) == SampleObject.first.bytes())
        #expect(try directory.contents.isEmpty)
    }

    /// A directory on another device than the temporary one.
    private static let otherDevice: String? = {
        let files = POSIXFileSystem()
        let here = try? files.information(at: FileManager.default.temporaryDirectory.path)
        let there = try? files.information(at: "/dev/shm")
        guard let here, let there, here.device != there.device else { return nil }
        return "/dev/shm"
    }()

    private func whole() throws -> any Partial {
        let partial = try DiskStore().open(directory.location)
        try partial.begin(SampleObject.first.representation)
        try partial.write(.first, 0..<1000)
        return partial
    }
}
