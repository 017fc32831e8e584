internal import Foundation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Tests of placing finished files on a real disk (rules 42 and 46).
@Suite("Placing", .endsWhenHung)
struct PlacementTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    @Test func `rule 46: an existing file is replaced, and unchanged until then`() throws {
        try directory.put("old".utf8, at: directory.destination)
        let partial = try whole()
        #expect(directory.bytes(at: directory.destination) == Array("old".utf8))
        try partial.place(at: [directory.destination], length: 1000)[0].get()
        #expect(directory.bytes(at: directory.destination) == SampleObject.first.bytes())
        #expect(try directory.contents == ["file.zip"])
    }

    @Test func `the finished file has the permissions of an ordinary file`() throws {
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

    @Test func `rule 42: after the rename, syncing the directory waits for a descriptor`() throws {
        let (path, counter) = (directory.path, Counter())
        var files = PretendingFileSystem(locks: .pretended)
        files.refusal = { asked, _ in asked == path && counter.enter() <= 3 ? .tooManyOpenFiles : nil }
        let partial = try PartialStore(disk: files, durability: .powerLoss, bootID: "boot").open(directory.location)
        try partial.begin(SampleObject.first.representation)
        try partial.finish(.first, IntervalSet(), at: directory.destination)
        #expect(counter.enter() == 5, "the fourth attempt succeeds")
        #expect(try directory.contents == ["file.zip"])
    }

    @Test func `several destinations receive separate files`() throws {
        let paths = (0..<4).map { "\(directory.path)/copy-\($0).zip" }
        for result in try whole().place(at: paths, length: 1000) { try result.get() }
        for path in paths { #expect(directory.bytes(at: path) == SampleObject.first.bytes()) }
        #expect(try directory.contents.count == 4)
        // The copies do not share bytes.
        try directory.put("x".utf8, at: paths[0])
        #expect(directory.bytes(at: paths[1]) == SampleObject.first.bytes())
    }

    @Test(arguments: ["directory", "plain/file", "pipe"])
    func `a destination that is not a file is refused, and the bytes are kept`(name: String) throws {
        try FileManager.default.createDirectory(
            atPath: "\(directory.path)/directory", withIntermediateDirectories: true)
        #expect(mkfifo("\(directory.path)/pipe", 0o600) == 0)
        try directory.put("x".utf8, at: "\(directory.path)/plain")
        let partial = try whole()
        try partial.save(IntervalSet(0..<1000))
        let result = partial.place(at: ["\(directory.path)/\(name)"], length: 1000)[0]
        #expect(throws: DownloadError.self) { try result.get() }
        if case .failure(let error) = result { #expect(error.code == .destinationUnusable) }
        // The file can still be placed at another destination.
        partial.close()
        let again = try PartialStore().open(directory.location)
        #expect(again.finding == .bytes(SampleObject.first.representation, IntervalSet(0..<1000)))
        try again.place(at: [directory.destination], length: 1000)[0].get()
        #expect(directory.bytes(at: directory.destination) == SampleObject.first.bytes())
    }

    @Test func `a failed destination does not affect the others`() throws {
        try directory.put("x".utf8, at: "\(directory.path)/plain")
        let paths = ["\(directory.path)/plain/file", directory.destination, "\(directory.path)/copy.zip"]
        let results = try whole().place(at: paths, length: 1000)
        #expect(results.map(\.isFailure) == [true, false, false])
        #expect(directory.bytes(at: paths[1]) == SampleObject.first.bytes())
        #expect(directory.bytes(at: paths[2]) == SampleObject.first.bytes())
        #expect(try directory.contents == ["copy.zip", "file.zip", "plain"])
    }

    @Test func `missing directories of a destination are created`() throws {
        let paths = ["\(directory.path)/one/two/file", "\(directory.path)/three/file"]
        for result in try whole().place(at: paths, length: 1000) { try result.get() }
        for path in paths { #expect(directory.bytes(at: path) == SampleObject.first.bytes()) }
    }

    @Test func `a directory with an equivalent name is another one`() throws {
        let own = "\(directory.path)/\u{E9}"
        try FileManager.default.createDirectory(atPath: own, withIntermediateDirectories: false)
        let partial = try PartialStore().open(.sample(in: own))
        try partial.begin(SampleObject.first.representation)
        try partial.finish(.first, IntervalSet(), at: "\(directory.path)/e\u{301}/file")
        #expect(directory.bytes(at: "\(directory.path)/e\u{301}/file") == SampleObject.first.bytes())
    }

    @Test func `files with equivalent names are different ones`() throws {
        // macOS treats the names as one.
        #if os(Linux)
        let paths = ["\(directory.path)/\u{E9}", "\(directory.path)/e\u{301}"]
        for result in try whole().place(at: paths, length: 1000) { try result.get() }
        for path in paths { #expect(directory.bytes(at: path) == SampleObject.first.bytes()) }
        #endif
        let places: [PlacementTarget.Place] = [
            .path("/d/\u{E9}", below: nil), .path("/d/e\u{301}", below: nil), .path("/d/\u{E9}", below: "/d"),
            .directory("/\u{E9}", name: "a", isCallers: false), .directory("/e\u{301}", name: "a", isCallers: false),
            .directory("/\u{E9}", name: "a", isCallers: true), .directory("/\u{E9}", name: "b", isCallers: false),
            .directory("/\u{E9}", name: "a", isCallers: false, below: "/"),
        ]
        #expect(Set(places).count == places.count)
        #expect(Set(places + places).count == places.count)
    }

    @Test func `a symbolic link at the destination is replaced, and its target is unchanged`() throws {
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

    @Test func `a file that is shorter than the requested length is refused`() throws {
        let partial = try whole()
        #expect(partial.place(at: [directory.destination], length: 1001)[0].isFailure)
        #expect(directory.bytes(at: directory.destination) == nil)
    }

    @Test func `rule 41: bytes beyond the end are cut`() throws {
        let partial = try whole()
        try partial.write(.first, 1000..<1200)
        try partial.place(at: [directory.destination], length: 1000)[0].get()
        #expect(directory.bytes(at: directory.destination) == SampleObject.first.bytes())
    }

    @Test(.enabled(if: otherDevice != nil))
    func `a destination on another device receives a copy`() throws {
        let other = try TemporaryDirectory(in: try #require(Self.otherDevice))
        let partial = try whole()
        try partial.save(IntervalSet(0..<1000))
        for result in partial.place(at: [other.destination, directory.destination], length: 1000) { try result.get() }
        #expect(other.bytes(at: other.destination) == SampleObject.first.bytes())
        #expect(directory.bytes(at: directory.destination) == SampleObject.first.bytes())
        #expect(try other.contents == ["file.zip"])
        #expect(try directory.contents == ["file.zip"])
    }

    @Test(.enabled(if: otherDevice != nil))
    func `a copy on the only destination's device removes the partial file`() throws {
        let other = try TemporaryDirectory(in: try #require(Self.otherDevice))
        try whole().place(at: [other.destination], length: 1000)[0].get()
        #expect(other.bytes(at: other.destination) == SampleObject.first.bytes())
        #expect(try directory.contents.isEmpty)
    }

    /// A directory on another device than the temporary directory, if one exists.
    private static let otherDevice: String? = {
        let files = POSIXFileSystem()
        let here = try? files.information(at: FileManager.default.temporaryDirectory.path)
        let there = try? files.information(at: "/dev/shm")
        guard let here, let there, here.device != there.device else { return nil }
        return "/dev/shm"
    }()

    private func whole() throws -> PartialFile {
        let partial = try PartialStore().open(directory.location)
        try partial.begin(SampleObject.first.representation)
        try partial.write(.first, 0..<1000)
        return partial
    }
}
