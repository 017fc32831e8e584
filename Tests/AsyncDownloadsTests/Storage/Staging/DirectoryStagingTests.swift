internal import Foundation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Tests of the steps by which a directory is replaced, with interruptions after each of them.
@Suite("Staging of directories", .endsWhenHung)
struct DirectoryStagingTests {
    let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    static let old = ["a": "old a", "sub/b": "old b", "sub/deep/d": "old d"]
    static let new = ["a": "new a", "sub/c": "new c", "other/e": "new e"]
    private static let both = old.merging(new) { $1 }

    var destination: String { "\(directory.path)/models" }

    func staging(_ disk: some FileSystem) -> DirectoryStaging {
        DirectoryStaging(destination, store: PartialStore(disk: disk, durability: .powerLoss, bootID: nil))
    }

    func write(_ files: [String: String], to root: String) throws {
        for (path, text) in files {
            let url = URL(fileURLWithPath: "\(root)/\(path)")
            try FileManager.default.createDirectory(
                at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
            // The real download renames a new file to its name, too.
            try Data(text.utf8).write(to: url, options: .atomic)
        }
    }

    /// The files of the destination, without the mark of a new version; nil if it doesn't exist.
    var visible: [String: String]? {
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
    private func publish(
        _ disk: InterruptedFileSystem, _ files: [String: String] = new, atEnd end: (DirectoryStaging) -> Void = { _ in }
    ) throws -> Bool {
        let staging = staging(disk)
        do throws(FileFailure) {
            let lock = try staging.open()
            // The descriptor of a process that has ended is closed.
            defer { lock.release(removing: true) }
            if disk.hasEnded { return false }
            do { try write(files, to: staging.names.staged) } catch { Issue.record(error) }
            end(staging)
            _ = try staging.publish()
            return !disk.hasEnded
        } catch {
            return false
        }
    }

    @Test(arguments: [true, false], [true, false])
    func `rule 67: after an end at any step, the directory is whole, and the next process publishes it`(
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
            try staging(InterruptedFileSystem(exchanges: exchanges)).open().release(removing: true)
            #expect(visible == old || visible == new, "after \(stepCount) changes")
            #expect(try publish(InterruptedFileSystem(exchanges: exchanges)))
            #expect(visible == new)
            #expect(try directory.contents == ["models"], "after \(stepCount) changes")
            stepCount += 1
        }
        #expect(stepCount > 5)
    }

    @Test(arguments: [true, false])
    func `rule 67: after an end at any step of giving up, the directory is the old version`(isDiscarded: Bool) throws {
        var stepCount = 0
        var isFinished = false
        while !isFinished {
            let disk = InterruptedFileSystem(after: stepCount)
            let staging = staging(disk)
            try? FileManager.default.removeItem(atPath: destination)
            try write(Self.old, to: destination)
            do throws(FileFailure) {
                let lock = try staging.open()
                defer { lock.release(removing: true) }
                if disk.hasEnded { continue }
                do { try write(Self.new, to: staging.names.staged) } catch { Issue.record(error) }
                if isDiscarded { try staging.discard() } else { try staging.close() }
                isFinished = !disk.hasEnded
            } catch {}
            #expect(visible == Self.old, "after \(stepCount) changes")
            let next = self.staging(POSIXFileSystem())
            try next.open().release(removing: true)
            #expect(visible == Self.old, "after \(stepCount) changes")
            try next.discard()
            #expect(try directory.contents == ["models"], "after \(stepCount) changes")
            stepCount += 1
        }
    }

    @Test(arguments: [true, false])
    func `rule 67: what other programs create or replace meanwhile isn't lost`(exchanges: Bool) throws {
        try write(Self.old, to: destination)
        let others = ["note": "x", "sub/b": "edited", "fresh/x/y": "z", "sub/f": "g", "a": "edited too"]
        let change: @Sendable () -> Void = { [self] in
            #expect(throws: Never.self) { try write(others, to: destination) }
        }
        let merged = Self.both.merging(others) { $1 }.merging(["a": "new a"]) { $1 }
        // During the exchange, and before it.
        #expect(try publish(InterruptedFileSystem(exchanges: exchanges, willExchange: change)))
        #expect(visible == merged)
        try? FileManager.default.removeItem(atPath: destination)
        try write(Self.old, to: destination)
        #expect(try publish(InterruptedFileSystem(exchanges: exchanges)) { _ in change() })
        #expect(visible == merged)
        #expect(try directory.contents == ["models"])
    }

    @Test(arguments: [true, false])
    func `rule 67: what other programs create after the exchange isn't replaced`(isOfOneKind: Bool) throws {
        // The old version gets a file during the exchange, and another program creates one where it is about to be moved.
        let name = isOfOneKind ? "note" : "note-2"
        let disk = ObservedFileSystem(
            willExchange: { [self] in
                #expect(throws: Never.self) { try write(["note": "edited"], to: destination) }
            },
            sawNothing: { [self] path in
                guard path == "\(destination)/\(name)" else { return }
                #expect(throws: Never.self) { try write([name: "created"], to: destination) }
            })
        try write(Self.old, to: destination)
        let staging = staging(disk)
        let lock = try staging.open()
        if !isOfOneKind { try write(["note/x": "y"], to: staging.names.staged) }
        _ = try staging.publish()
        lock.release(removing: true)
        let notes = isOfOneKind ? ["note": "created"] : ["note/x": "y", "note-2": "created", "note-3": "edited"]
        #expect(visible == Self.old.merging(notes) { $1 })
        #expect(try directory.contents == ["models"])
    }

    @Test func `rule 67: the marker is durable before the links that it records`() throws {
        try write(Self.old, to: destination)
        let disk = ObservedFileSystem()
        let staging = staging(disk)
        let lock = try staging.open()
        defer { lock.release(removing: true) }
        let names = staging.names
        let steps = ["sync \(names.newMarker)", "name \(names.marker)", "sync \(names.marker)", "link a"]
        #expect(disk.steps.filter(steps.contains) == steps)
    }

    @Test func `rule 67: what other programs remove from the old version meanwhile doesn't appear again`() throws {
        try write(Self.old, to: destination)
        #expect(
            try publish(InterruptedFileSystem(), ["b": "new"]) { _ in
                try? FileManager.default.removeItem(atPath: "\(destination)/sub/b")
                try? FileManager.default.removeItem(atPath: "\(destination)/sub/deep")
            })
        #expect(visible == ["a": "old a", "b": "new"])
    }

    @Test func `rule 67: the next owner distinguishes links from downloads, and prefers what was changed since`() throws
    {
        try write(Self.old.merging(["gone": "x", "kept": "k"]) { $1 }, to: destination)
        let staging = staging(POSIXFileSystem())
        // The process ends without a call of `close`.
        let lock = try staging.open()
        try write(["kept": "downloaded", "a": "downloaded", "created": "downloaded"], to: staging.names.staged)
        lock.release(removing: true)
        try write(["a": "edited", "sub/b": "edited", "created": "mine"], to: destination)
        try FileManager.default.removeItem(atPath: "\(destination)/gone")
        #expect(try publish(InterruptedFileSystem(), ["b": "new"]))
        #expect(
            visible == [
                "a": "edited", "sub/b": "edited", "created": "mine", "kept": "downloaded", "b": "new",
                "sub/deep/d": "old d",
            ])
    }

    @Test func `rule 67: what was removed or replaced after an interrupted publication stays so`() throws {
        try write(Self.old, to: destination)
        let staging = staging(POSIXFileSystem())
        let lock = try staging.open()
        try write(["b": "new"], to: staging.names.staged)
        // The process ends after the exchange.
        try POSIXFileSystem().exchange(staging.names.staged, with: destination)
        lock.release(removing: true)
        try FileManager.default.removeItem(atPath: "\(destination)/a")
        try write(["sub/b": "edited"], to: destination)
        #expect(try publish(InterruptedFileSystem(), ["c": "newer"]))
        #expect(visible == ["b": "new", "c": "newer", "sub/b": "edited", "sub/deep/d": "old d"])
        #expect(try directory.contents == ["models"])
    }

    @Test func `a file that another program removes meanwhile doesn't prevent the publication`() throws {
        struct Vanishing: ForwardingFileSystem {
            func link(_ path: String, as other: String) throws(FileFailure) {
                if path.hasSuffix("/a") { try base.remove(path) }
                try base.link(path, as: other)
            }
        }
        try write(Self.old, to: destination)
        let staging = staging(Vanishing())
        let lock = try staging.open()
        _ = try staging.publish()
        lock.release(removing: true)
        #expect(visible == Self.old.filter { $0.key != "a" })
    }

    @Test func `a close leaves no second names, and keeps other files for the next owner`() throws {
        try write(Self.old, to: destination)
        let staging = staging(POSIXFileSystem())
        var lock = try staging.open()
        #expect(try POSIXFileSystem().information(at: "\(destination)/a")?.linkCount == 2)
        try write(["other/new": "x"], to: staging.names.staged)
        try staging.close()
        lock.release(removing: true)
        for path in Self.old.keys {
            #expect(try POSIXFileSystem().information(at: "\(destination)/\(path)")?.linkCount == 1)
        }
        #expect(
            FileManager.default.subpaths(atPath: staging.names.staged)?.sorted() == [
                staging.names.marker, "other", "other/new",
            ])
        lock = try staging.open()
        _ = try staging.publish()
        lock.release(removing: true)
        #expect(visible == Self.old.merging(["other/new": "x"]) { $1 })
    }

    @Test func `links, pipes, and permissions of the old version are kept`() throws {
        try write(Self.old, to: destination)
        try directory.link("\(destination)/link", to: "a")
        #expect(mkfifo("\(destination)/pipe", 0o600) == 0)
        try FileManager.default.setAttributes([.posixPermissions: 0o750], ofItemAtPath: destination)
        #expect(chmod("\(destination)/sub", 0o1711) == 0)
        #expect(try publish(InterruptedFileSystem()))
        let disk = POSIXFileSystem()
        #expect(try disk.information(at: "\(destination)/link")?.kind == .symbolicLink)
        #expect(try disk.information(at: "\(destination)/pipe")?.kind == .other)
        #expect(try disk.information(at: destination)?.permissions == 0o750)
        #expect(try disk.information(at: "\(destination)/sub")?.permissions == 0o711)
        #expect(
            try FileManager.default.attributesOfItem(atPath: "\(destination)/sub")[.posixPermissions] as? Int == 0o1711)
        #expect(try disk.information(at: "\(destination)/sub/b")?.linkCount == 1)
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
