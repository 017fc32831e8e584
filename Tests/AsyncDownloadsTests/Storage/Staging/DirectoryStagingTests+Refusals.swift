internal import Foundation
internal import Testing

@testable import AsyncDownloads

/// Directories that can't be staged or published.
extension DirectoryStagingTests {
    @Test func `a name that isn't UTF-8 is refused before anything changes`() throws {
        try write(Self.old, to: destination)
        let name = Array("\(destination)/pr".utf8) + [0xE9, 0]
        let isCreated = name.withUnsafeBufferPointer { bytes in
            bytes.withMemoryRebound(to: CChar.self) { open($0.baseAddress!, O_CREAT | O_WRONLY, 0o600) }
        }
        try #require(isCreated >= 0)
        close(isCreated)
        let failure = #expect(throws: FileFailure.self) { try staging(POSIXFileSystem()).open() }
        #expect(failure?.kind == .unusablePath)
        #expect(visible?.count == Self.old.count + 1 || visible == Self.old)
        #expect(try directory.contents == ["models"])
    }

    @Test func `a staged directory that something else occupies is refused`() throws {
        try write(Self.old, to: destination)
        let staging = staging(POSIXFileSystem())
        try FileManager.default.createDirectory(atPath: "\(directory.path)/docs", withIntermediateDirectories: true)
        try directory.put([1], at: "\(directory.path)/docs/a")
        try directory.link(staging.names.staged, to: "docs")
        #expect(throws: FileFailure.self) { try staging.open() }
        #expect(directory.bytes(at: "\(directory.path)/docs/a") == [1])
        #expect(visible == Self.old)
    }

    @Test func `a new file at the path of a new directory prevents the publication`() throws {
        try write(Self.old, to: destination)
        let staging = staging(POSIXFileSystem())
        let lock = try staging.open()
        defer { lock.release(removing: true) }
        try write(["n": "new"], to: staging.names.staged)
        try write(["n/x": "y"], to: destination)
        let failure = #expect(throws: FileFailure.self) { try staging.publish() }
        #expect(failure?.kind == .unusablePath)
        #expect(visible == Self.old.merging(["n/x": "y"]) { $1 })
        try staging.discard()
        #expect(visible?.count == 4)
    }

    @Test(arguments: [true, false])
    func `rule 67: an object of another kind that appears during the exchange gets a number`(isDirectory: Bool) throws {
        struct Racing: ForwardingFileSystem {
            let isDirectory: Bool

            func exchange(_ path: String, with other: String) throws(FileFailure) {
                if isDirectory { try base.makeDirectory("\(other)/n") }
                let theirs = isDirectory ? "\(other)/n/theirs" : "\(other)/n"
                #expect(FileManager.default.createFile(atPath: theirs, contents: Data("theirs".utf8)))
                try base.exchange(path, with: other)
            }
        }
        try write(Self.old, to: destination)
        let staging = staging(Racing(isDirectory: isDirectory))
        let lock = try staging.open()
        try write([isDirectory ? "n" : "n/x": "new"], to: staging.names.staged)
        #expect(try staging.publish() == nil)
        lock.release(removing: true)
        let added = isDirectory ? ["n": "new", "n-2/theirs": "theirs"] : ["n/x": "new", "n-2": "theirs"]
        #expect(visible == Self.old.merging(added) { $1 })
        #expect(try directory.contents == ["models"])
    }

    @Test func `a volume without second names can only be used for a directory that doesn't exist`() throws {
        struct Unlinking: ForwardingFileSystem {
            func link(_ path: String, as other: String) throws(FileFailure) {
                throw FileFailure(.unsupported, errno: 0, operation: "link", name: "file", reason: "scripted")
            }
        }
        let staging = staging(Unlinking())
        let lock = try staging.open()
        try write(["b": "new"], to: staging.names.staged)
        _ = try staging.publish()
        lock.release(removing: true)
        #expect(visible == ["b": "new"])
        #expect(throws: FileFailure.self) { try staging.open() }
        #expect(visible == ["b": "new"])
        #expect(try directory.contents == ["models"])
    }

    @Test func `the lock of something else isn't an owner's lock`() throws {
        let staging = staging(POSIXFileSystem())
        try directory.link(staging.names.lock.lock, to: "elsewhere")
        let failure = #expect(throws: FileFailure.self) { try staging.open() }
        #expect(failure?.kind == .denied)
    }
}
