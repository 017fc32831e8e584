internal import Foundation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Tests of the steps by which a directory is replaced, with interruptions after each of them.
@Suite("Staging of directories", .endsWhenHung)
struct DirectoryStagingTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    private static let old = ["a": "old a", "sub/b": "old b", "sub/deep/d": "old d"]
    private static let new = ["a": "new a", "sub/c": "new c", "other/e": "new e"]
    private static let both = old.merging(new) { $1 }

    private var destination: String { "\(directory.path)/models" }

    private func staging(_ disk: some FileSystem) -> DirectoryStaging {
        DirectoryStaging(destination, store: PartialStore(disk: disk, durability: .powerLoss, bootID: nil))
    }

    private func write(_ files: [String: String], to root: String) throws {
        for (path, text) in files {
            let url = URL(fileURLWithPath: "\(root)/\(path)")
            try FileManager.default.createDirectory(
                at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
            // The real download renames a new file to its name, too.
            try Data(text.utf8).write(to: url, options: .atomic)
        }
    }

    /// The files of the destination, without the mark of a new version; nil if it doesn't exist.
    private var visible: [String: String]? {
        get {
            guard let paths = FileManager.default.subpaths(atPath: destination) else { return nil }
            return paths.reduce(into: [:]) { files, path in
                // A directory has no bytes.
                guard !path.hasSuffix(".staged"), let bytes = directory.bytes(at: "\(destination)/\(path)") else {
                    return
                }
                files[path] = String(decoding: bytes, as: UTF8.self)
            }
        }
    }

    /// Does what a process does, and returns whether it has published the new version.
    private func publish(_ disk: InterruptedFileSystem) throws -> Bool {
        let staging = staging(disk)
        do throws(FileFailure) {
            let lock = try staging.open()
            // The descriptor of a process that has ended is closed.
            defer { lock.release(removing: true) }
            for path in Self.new.keys { staging.reuse(path) }
            if disk.hasEnded { return false }
            do { try write(Self.new, to: staging.names.staged) } catch { Issue.record(error) }
            try staging.publish { Self.new[$0] != nil }
            return !disk.hasEnded
        } catch {
            return false
        }
    }

    @Test(arguments: [true, false], [true, false])
    func `after an end at any step, the directory is whole, and the next process publishes it`(
        hasOldVersion: Bool, exchanges: Bool
    ) throws {
        let old = hasOldVersion ? Self.old : nil
        let new = hasOldVersion ? Self.both : Self.new
        var stepCount = 0
        var isPublished = false
        while !isPublished {
            try? FileManager.default.removeItem(atPath: destination)
            if let old { try write(old, to: destination) }
            isPublished = try publish(InterruptedFileSystem(after: stepCount, exchanges: exchanges))
            // Without an exchange, the directory doesn't exist for a moment.
            let state = visible
            #expect(state == old || state == new || (!exchanges && state == nil), "after \(stepCount) changes")
            let lock = try staging(POSIXFileSystem()).open()
            let recovered = visible
            #expect(recovered == old || recovered == new, "after \(stepCount) changes")
            lock.release(removing: true)
            #expect(try publish(InterruptedFileSystem(exchanges: exchanges)))
            #expect(visible == new)
            #expect(try directory.contents == ["models"], "after \(stepCount) changes")
            stepCount += 1
        }
        #expect(stepCount > 5)
    }

    @Test(arguments: [true, false])
    func `what other programs create or replace in the old version meanwhile isn't lost`(exchanges: Bool) throws {
        try write(Self.old, to: destination)
        let others = ["note": "x", "sub/b": "edited", "fresh/x/y": "z", "sub/f": "g", "a": "edited too"]
        let disk = InterruptedFileSystem(exchanges: exchanges) { [self] in
            #expect(throws: Never.self) { try write(others, to: destination) }
        }
        #expect(try publish(disk))
        #expect(visible == Self.both.merging(others) { $1 }.merging(["a": "new a"]) { $1 })
        #expect(try directory.contents == ["models"])
    }

    @Test func `links, pipes, and permissions of the old version are kept`() throws {
        try write(Self.old, to: destination)
        try directory.link("\(destination)/link", to: "a")
        #expect(mkfifo("\(destination)/pipe", 0o600) == 0)
        try FileManager.default.setAttributes([.posixPermissions: 0o750], ofItemAtPath: destination)
        try FileManager.default.setAttributes([.posixPermissions: 0o711], ofItemAtPath: "\(destination)/sub")
        #expect(try publish(InterruptedFileSystem()))
        let disk = POSIXFileSystem()
        #expect(try disk.information(at: "\(destination)/link")?.kind == .symbolicLink)
        #expect(try disk.information(at: "\(destination)/pipe")?.kind == .other)
        #expect(try disk.information(at: destination)?.permissions == 0o750)
        #expect(try disk.information(at: "\(destination)/sub")?.permissions == 0o711)
        #expect(try disk.information(at: "\(destination)/sub/b")?.linkCount == 1)
    }

    @Test(arguments: [["a/x": "a file where a file is"], ["sub": "a file where a directory is"]])
    func `a directory in only one of the versions prevents the publication`(_ files: [String: String]) throws {
        try write(Self.old, to: destination)
        let staging = staging(POSIXFileSystem())
        let lock = try staging.open()
        defer { lock.release(removing: true) }
        try write(files, to: staging.names.staged)
        let failure = #expect(throws: FileFailure.self) { try staging.publish { files[$0] != nil } }
        #expect(failure?.kind == .unusablePath)
        #expect(visible == Self.old)
        try staging.discard()
        #expect(visible == Self.old)
    }

    @Test func `files that weren't added are removed, and hide nothing of the old version`() throws {
        try write(Self.old, to: destination)
        let staging = staging(POSIXFileSystem())
        let lock = try staging.open()
        try write(["a": "of an earlier attempt", "gone/x": "y", "b": "new b"], to: staging.names.staged)
        try staging.publish { $0 == "b" }
        lock.release(removing: true)
        #expect(visible == Self.old.merging(["b": "new b"]) { $1 })
        #expect(!FileManager.default.fileExists(atPath: "\(destination)/gone"))
        #expect(try directory.contents == ["models"])
    }

    @Test func `a volume without second names keeps the old version`() throws {
        struct Unlinking: ForwardingFileSystem {
            func link(_ path: String, as other: String) throws(FileFailure) {
                throw FileFailure(.unsupported, errno: 0, operation: "link", name: "file", reason: "scripted")
            }
        }
        let staging = staging(Unlinking())
        for files in [nil, Self.old] {
            if let files { try write(files, to: destination) }
            let lock = try staging.open()
            defer { lock.release(removing: true) }
            staging.reuse("a")
            try write(["b": "new"], to: staging.names.staged)
            if files == nil {
                try staging.publish { $0 == "b" }
                #expect(visible == ["b": "new"])
            } else {
                #expect(throws: FileFailure.self) { try staging.publish { $0 == "b" } }
                #expect(visible == Self.old.merging(["b": "new"]) { $1 })
                try staging.discard()
            }
        }
    }

    @Test func `staged directories are recognized by their names`() {
        let names = StagedNames(destination: "/d/models", user: 1)
        #expect(StagedNames.isStaged(names.staged))
        #expect(StagedNames.isStaged(names.staged + "/sub"))
        for path in ["/d/models", "/d/.staged", "/d/.x.staged/y", "/d/x.0123456789abcdef.staged", "/d/.staged.zip"] {
            #expect(!StagedNames.isStaged(path), "\(path)")
        }
        #expect(StagedNames(destination: "/d/other", user: 1).staged != names.staged)
        #expect(StagedNames(destination: "/d/models", user: 2).staged != names.staged)
        #expect(
            PartialNames.lastComponent(
                of: StagedNames(destination: "/d/" + String(repeating: "n", count: 255), user: 1).staged
            ).utf8.count <= 255)
    }
}
