package import struct Foundation.URL

/// The port to the operating system's file functions.
///
/// The production adapter is ``POSIXFileSystem``; the tests contain a simulation that loses power. Functions on files
/// don't follow a symbolic link in the last component of a path; ``names(in:)`` and ``synchronizeDirectory(_:)`` do. All
/// functions may be called on any thread.
package protocol FileSystem: DirectoryFunctions {
    /// Opens the file at `path`; programs that the process starts do not inherit it.
    func open(_ path: String, _ purpose: OpenPurpose) throws(FileFailure) -> OpenFile

    /// Closes the file, which also releases its lock.
    func close(_ file: OpenFile)

    /// Acquires the file's lock without waiting; returns false while another open file holds it.
    ///
    /// - Throws: ``FileFailure/Kind/unsupported`` if the file system does not support locks.
    func lock(_ file: OpenFile) throws(FileFailure) -> Bool

    /// Releases the file's lock, even if another process has inherited the open file.
    ///
    /// A program that the process starts has the open file for a moment, before the files that it must not inherit are
    /// closed.
    func unlock(_ file: OpenFile)

    /// Writes all of `bytes` at `offset`.
    func write(_ bytes: UnsafeRawBufferPointer, to file: OpenFile, at offset: Int64) throws(FileFailure)

    /// Reads up to `buffer.count` bytes at `offset`, and returns the number of bytes read; 0 at the end of the file.
    func read(
        into buffer: UnsafeMutableRawBufferPointer, from file: OpenFile, at offset: Int64
    ) throws(FileFailure) -> Int

    /// Sets the length of the file to `length`, which also releases blocks allocated beyond its end.
    func truncate(_ file: OpenFile, to length: Int64) throws(FileFailure)

    /// Allocates blocks for `range` without changing the file's size; blocks before it are already allocated.
    func preallocate(_ file: OpenFile, _ range: Range<Int64>) throws(FileFailure)

    /// Sets the permissions of the file.
    func setPermissions(_ permissions: FilePermissions, of file: OpenFile) throws(FileFailure)

    /// Sets the times of the last change and of the last access, in seconds since 1970.
    func setModificationTime(_ seconds: Int64, of file: OpenFile) throws(FileFailure)

    /// Sets the attributes of a finished file, as far as the volume stores them.
    ///
    /// ``FileAttributes/usesLastModified`` is ignored; see ``setModificationTime(_:of:)``.
    ///
    /// - Parameters:
    ///   - attributes: The attributes.
    ///   - file: The file.
    ///   - directory: The directory of the destination, which may not exist yet.
    func setAttributes(_ attributes: FileAttributes, of file: OpenFile, in directory: String)

    /// Sets an extended attribute of the file, which becomes durable with its bytes.
    ///
    /// - Throws: ``FileFailure/Kind/unsupported`` if the volume has no extended attributes.
    func setAttribute(_ name: String, to value: [UInt8], of file: OpenFile) throws(FileFailure)

    /// Returns the value of an extended attribute; nil if the file doesn't have it, or if the value exceeds 4 KiB.
    ///
    /// - Throws: ``FileFailure/Kind/unsupported`` if the volume has no extended attributes.
    func attribute(_ name: String, of file: OpenFile) throws(FileFailure) -> [UInt8]?

    /// Makes the file's bytes, and the metadata needed to read them, durable against a loss of power.
    func synchronize(_ file: OpenFile) throws(FileFailure)

    /// Begins to make the file durable without waiting for the drive; ``synchronize(_:)`` completes it.
    func startSynchronizing(_ file: OpenFile) throws(FileFailure)

    /// Whether a successful ``synchronize(_:)`` makes all files durable for which ``startSynchronizing(_:)`` has
    /// succeeded before.
    var flushesAllFilesTogether: Bool { get }

    /// Throws the errors of earlier writes that the file system would report on closing the file, and keeps it open.
    ///
    /// Network file systems send bytes late, and only then report errors such as a lack of space.
    func checkWrites(to file: OpenFile) throws(FileFailure)

    /// Makes the names in the directory durable against a loss of power.
    func synchronizeDirectory(_ path: String) throws(FileFailure)

    /// Returns information about the open file.
    func information(of file: OpenFile) throws(FileFailure) -> FileInformation

    /// Returns information about the file at `path`, or nil if it does not exist.
    func information(at path: String) throws(FileFailure) -> FileInformation?

    /// Renames the file at `path` to `destination`, atomically replacing an existing file.
    func rename(_ path: String, to destination: String) throws(FileFailure)

    /// Renames the file at `path` to `destination`, which must not exist.
    ///
    /// - Throws: ``FileFailure/Kind/exists`` if a file has the name, or a name that the volume treats as equal.
    func rename(_ path: String, toUnused destination: String) throws(FileFailure)

    /// Removes the file at `path`; does nothing if it does not exist.
    func remove(_ path: String) throws(FileFailure)

    /// Creates a file at `path` with the bytes of `file`, accessible to its owner only, and returns it open.
    ///
    /// The files share their blocks if the file system supports it.
    func duplicate(_ file: OpenFile, to path: String) throws(FileFailure) -> OpenFile

    /// Returns the names in the directory, in no particular order.
    func names(in directory: String) throws(FileFailure) -> [String]

    /// Creates the directory, whose parent must exist.
    func makeDirectory(_ path: String) throws(FileFailure)

    /// Creates a directory for a file that is to be placed at `path`, on the same volume if possible.
    ///
    /// A sandboxed app that may access the file at `path`, but not its directory, can create files in the new
    /// directory.
    ///
    /// - Returns: The path of the new directory; nil on systems that don't restrict access in this way.
    func makeReplacementDirectory(for path: String) throws(FileFailure) -> String?

    /// Removes a directory that ``makeReplacementDirectory(for:)`` created, unless it contains files.
    func removeReplacementDirectory(_ path: String)

    /// Replaces the file at `path` with the file at `source`, if ``rename(_:to:)`` is denied.
    ///
    /// `source` must be in a directory that ``makeReplacementDirectory(for:)`` created. If the function fails, the
    /// original file may have been moved to that directory.
    func replaceItem(at path: String, by source: String) throws(FileFailure)

    /// Starts access to a URL that carries a permission of the user; returns nil for other URLs.
    ///
    /// The access ends when the returned object is released.
    func access(to url: URL) -> (any AnyObject & Sendable)?

    /// Returns the maximum size of a new file in the directory, in bytes, or nil if it is unknown.
    func availableSpace(in directory: String) throws(FileFailure) -> Int64?

    /// Returns the kind of the volume that contains the file.
    func volumeKind(of file: OpenFile) -> VolumeKind

    /// Returns whether the volume of the directory, which may not exist yet, restricts names as Windows does.
    func restrictsNames(in directory: String) -> Bool

    /// The effective user ID of the process.
    var user: UInt32 { get }

    /// The permission bits with which the process creates ordinary files.
    var ordinaryPermissions: UInt16 { get }
}

extension FileSystem {
    /// Does nothing, which suits a file system that reports all errors of a write at once.
    package func checkWrites(to file: OpenFile) throws(FileFailure) {}

    /// Does nothing, which suits a file system where syncing several files together saves no time.
    package func startSynchronizing(_ file: OpenFile) throws(FileFailure) {}

    package var flushesAllFilesTogether: Bool { false }

    /// Does nothing, which suits a file system without times.
    package func setModificationTime(_ seconds: Int64, of file: OpenFile) throws(FileFailure) {}

    /// Does nothing, which suits a file system without such attributes.
    package func setAttributes(_ attributes: FileAttributes, of file: OpenFile, in directory: String) {}

    package func restrictsNames(in directory: String) -> Bool { false }

    package func makeReplacementDirectory(for path: String) throws(FileFailure) -> String? { nil }

    package func removeReplacementDirectory(_ path: String) {}

    package func replaceItem(at path: String, by source: String) throws(FileFailure) {
        throw FileFailure(
            .unsupported, errno: 0, operation: "replace", name: PartialNames.lastComponent(of: path),
            reason: "the file system has no directories for replacing files")
    }

    package func access(to url: URL) -> (any AnyObject & Sendable)? { nil }
}

/// The purpose for which a file is opened: `reading` permits only reading; the other purposes also permit writing.
package enum OpenPurpose: Sendable, Hashable {
    /// The file exists and is only read.
    case reading
    /// The file exists.
    case existing
    /// The file is created, accessible to its owner only; it must not exist.
    ///
    /// On Apple's systems, the file is excluded from backups, and can be accessed while the device is locked.
    case new
}

/// A file descriptor.
package struct OpenFile: Sendable, Hashable {
    /// The descriptor's number, which the system reuses after the file is closed.
    package let number: Int32
    /// The last component of the path that was opened, for messages.
    package let name: String

    package init(number: Int32, name: String) {
        self.number = number
        self.name = name
    }
}

/// The permissions of a file.
package enum FilePermissions: Sendable, Hashable {
    /// The owner may read and write the file.
    case ownerOnly
    /// The usual permissions of new files, according to the file mode creation mask of the process.
    case ordinary
}

/// The kinds of volume that the store distinguishes.
package enum VolumeKind: Sendable, Hashable {
    /// A local disk: bytes that one process has written can be read by a later process, unless the power is lost.
    case disk
    /// A local disk that makes the changes of all files durable together, so that a sync of several files takes about
    /// as long as a sync of one file.
    case diskWithSharedSyncs
    /// A local disk without sparse files: the file system fills gaps with zeros.
    case diskWithoutGaps
    /// A file system in memory, where every allocated block uses memory of this machine.
    case memory
    /// A network, FUSE, or unknown file system: bytes that were not synced may be lost with the process.
    case other
}

/// Information about a file, as stat(2) returns it.
package struct FileInformation: Sendable, Hashable {
    /// The kinds of file that the store distinguishes.
    package enum Kind: Sendable, Hashable {
        case regular, directory, symbolicLink, other
    }

    package var kind: Kind
    /// The number of the device, which changes when the device is removed and attached again.
    package var device: UInt64
    /// The number of the file on its device, which the file system reuses after the file is removed.
    package var inode: UInt64
    /// The size, in bytes.
    package var size: Int64
    /// The number of bytes in the blocks that the file occupies.
    package var allocatedSize: Int64
    /// The number of hard links.
    package var linkCount: Int
    /// The ID of the user who owns the file.
    package var owner: UInt32
    /// The permissions, as the lowest nine bits of the file's mode.
    package var permissions: UInt16
    /// The time of the last modification, in nanoseconds since 1970.
    package var modificationTime: Int64

    package init(
        kind: Kind, device: UInt64, inode: UInt64, size: Int64, linkCount: Int, owner: UInt32,
        permissions: UInt16 = 0o600, modificationTime: Int64 = 0, allocatedSize: Int64? = nil
    ) {
        self.kind = kind
        self.device = device
        self.inode = inode
        self.size = size
        self.allocatedSize = allocatedSize ?? size
        self.linkCount = linkCount
        self.owner = owner
        self.permissions = permissions
        self.modificationTime = modificationTime
    }

    /// Returns whether both values describe the same file, regardless of its names.
    package func isSameFile(as other: Self) -> Bool { device == other.device && inode == other.inode }

    /// Returns whether both values describe the same file with the same bytes, according to its metadata.
    ///
    /// The inode number is not sufficient: file systems reuse the number of a removed file.
    package func isUnchanged(since other: Self) -> Bool {
        isSameFile(as: other) && size == other.size && modificationTime == other.modificationTime
    }

    /// The time of the last modification, in whole seconds since 1970.
    package var modificationSeconds: Int64 { modificationTime / 1_000_000_000 }
}

extension FileSystem {
    /// Throws if a rename to `destination` would replace something other than a file or a symbolic link.
    func checkReplaceable(_ destination: String) throws(FileFailure) {
        try information(at: destination)?.checkReplaceable(at: destination)
    }
}

extension FileInformation {
    /// Throws if a rename to `path` would replace something other than a file or a symbolic link.
    func checkReplaceable(at path: String) throws(FileFailure) {
        switch kind {
        case .regular, .symbolicLink: break
        case .directory, .other:
            throw FileFailure(
                .unusablePath, errno: 0, operation: "replace", name: PartialNames.lastComponent(of: path),
                reason: "it exists and is not a regular file")
        }
    }
}
