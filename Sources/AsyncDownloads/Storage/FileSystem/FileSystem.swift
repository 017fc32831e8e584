/// The calls of an operating system that disk storage is made of (port).
///
/// The real adapter is ``POSIXFileSystem``; a simulation that loses power lives with the tests. No function follows a
/// symbolic link in the last component of a path, and every function may be called on any thread.
package protocol FileSystem: Sendable {
    /// Opens the file at `path`, which is not inherited by other programs.
    func open(_ path: String, _ purpose: OpenPurpose) throws(FileFailure) -> OpenFile

    /// Closes the file, which also gives up its lock.
    func close(_ file: OpenFile)

    /// Takes the file's lock; false while another open file has it.
    ///
    /// - Throws: ``FileFailure/Kind/unsupported`` where the file system has no locks.
    func lock(_ file: OpenFile) throws(FileFailure) -> Bool

    /// Writes all of `bytes` at `offset`.
    func write(_ bytes: UnsafeRawBufferPointer, to file: OpenFile, at offset: Int64) throws(FileFailure)

    /// Reads up to `buffer.count` bytes at `offset`; 0 at the end of the file.
    func read(
        into buffer: UnsafeMutableRawBufferPointer, from file: OpenFile, at offset: Int64
    ) throws(FileFailure) -> Int

    /// Makes the file exactly `length` bytes long, which also frees blocks that were set aside behind its end.
    func truncate(_ file: OpenFile, to length: Int64) throws(FileFailure)

    /// Allocates blocks for the bytes of `range`, those before it being allocated already; the file's size stays.
    func preallocate(_ file: OpenFile, _ range: Range<Int64>) throws(FileFailure)

    /// Sets who may read and write the file.
    func setPermissions(_ permissions: FilePermissions, of file: OpenFile) throws(FileFailure)

    /// Returns when the file's bytes, and what is needed to read them back, would survive a loss of power.
    func synchronize(_ file: OpenFile) throws(FileFailure)

    /// Throws what the file system would have to say of earlier writes when the file is closed, and leaves it open.
    ///
    /// Network file systems send bytes late, and tell only then that there was no space for them.
    func checkWrites(to file: OpenFile) throws(FileFailure)

    /// Returns when the names in the directory would survive a loss of power.
    func synchronizeDirectory(_ path: String) throws(FileFailure)

    /// What the open file is.
    func information(of file: OpenFile) throws(FileFailure) -> FileInformation

    /// What is at `path`, or nil where nothing is.
    func information(at path: String) throws(FileFailure) -> FileInformation?

    /// Gives what is at `path` the name `destination`, atomically replacing what had it.
    func rename(_ path: String, to destination: String) throws(FileFailure)

    /// Gives what is at `path` the name `destination`, which nothing may have.
    ///
    /// - Throws: ``FileFailure/Kind/exists`` where something has it, by whatever comparison of names the volume uses.
    func rename(_ path: String, toUnused destination: String) throws(FileFailure)

    /// Removes the name `path`; no error where there is nothing.
    func remove(_ path: String) throws(FileFailure)

    /// Makes a new file at `path`, for its owner alone, with the bytes of `file`, and leaves it open.
    ///
    /// The blocks are shared where the file system can do that.
    func duplicate(_ file: OpenFile, to path: String) throws(FileFailure) -> OpenFile

    /// The names in the directory, in no order.
    func names(in directory: String) throws(FileFailure) -> [String]

    /// Makes the directory; its parent must exist.
    func makeDirectory(_ path: String) throws(FileFailure)

    /// How long a new file in the directory may become, or nil where nothing tells.
    func availableSpace(in directory: String) throws(FileFailure) -> Int64?

    /// What kind of volume the file is on.
    func volumeKind(of file: OpenFile) -> VolumeKind

    /// The number of the user that this process acts for.
    var user: UInt32 { get }

    /// The permission bits with which this process creates ordinary files.
    var ordinaryPermissions: UInt16 { get }
}

extension FileSystem {
    /// A file system that says everything at once has nothing to add.
    package func checkWrites(to file: OpenFile) throws(FileFailure) {}
}

/// What a file is opened for: to read and to write, but for `reading`.
package enum OpenPurpose: Sendable, Hashable {
    /// The file exists, and is only read.
    case reading
    /// The file exists.
    case existing
    /// The file is made here, for its owner alone; it must not exist.
    case new
}

/// An open file.
package struct OpenFile: Sendable, Hashable {
    /// The system's number for it, which is used anew once the file is closed.
    package let number: Int32
    /// The last component of the path that it was opened by, for messages.
    package let name: String

    package init(number: Int32, name: String) {
        self.number = number
        self.name = name
    }
}

/// Who may read and write a file.
package enum FilePermissions: Sendable, Hashable {
    /// Its owner alone.
    case ownerOnly
    /// Whoever the process's file mode creation mask lets: what other programs give to the files they make.
    case ordinary
}

/// What storage has to know of a volume.
package enum VolumeKind: Sendable, Hashable {
    /// A disk of this machine: what one process has written, the next one reads, until the power fails.
    case disk
    /// Memory of this machine, of which every allocated block takes a part.
    case memory
    /// A network or FUSE file system, or an unknown one: what was not synced may be lost with the process.
    case other
}

/// What a file is.
package struct FileInformation: Sendable, Hashable {
    /// The kinds of file that storage tells apart.
    package enum Kind: Sendable, Hashable {
        case regular, directory, symbolicLink, other
    }

    package var kind: Kind
    /// The number of the device that holds it; another one after the device was taken out and put back in.
    package var device: UInt64
    /// The number of the file on its device; used anew once the file is gone.
    package var inode: UInt64
    /// Its length in bytes.
    package var size: Int64
    /// How many names it has.
    package var linkCount: Int
    /// The number of the user that it belongs to.
    package var owner: UInt32
    /// Who may read, write and execute it, as the lowest nine bits of its mode.
    package var permissions: UInt16
    /// When its bytes were last changed, in nanoseconds since 1970.
    package var modificationTime: Int64

    package init(
        kind: Kind, device: UInt64, inode: UInt64, size: Int64, linkCount: Int, owner: UInt32,
        permissions: UInt16 = 0o600, modificationTime: Int64 = 0
    ) {
        self.kind = kind
        self.device = device
        self.inode = inode
        self.size = size
        self.linkCount = linkCount
        self.owner = owner
        self.permissions = permissions
        self.modificationTime = modificationTime
    }

    /// Whether both are the same file, whatever its names are.
    package func isSameFile(as other: Self) -> Bool { device == other.device && inode == other.inode }

    /// Whether both are the same file with the same bytes, as far as the file system says.
    ///
    /// The number alone does not tell that: file systems give the number of a removed file to the next one.
    package func isUnchanged(since other: Self) -> Bool {
        isSameFile(as: other) && size == other.size && modificationTime == other.modificationTime
    }

    /// When its bytes were last changed, in whole seconds since 1970.
    package var modificationSeconds: Int64 { modificationTime / 1_000_000_000 }
}
