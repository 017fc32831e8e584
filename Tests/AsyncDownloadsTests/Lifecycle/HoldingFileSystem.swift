@testable import AsyncDownloads

/// The real file system, in which reading a partial file and renaming to a destination can be held up.
struct HoldingFileSystem: FileSystem {
    let base = POSIXFileSystem()
    /// Holds up whoever reads the bytes of a partial file, as a digest does.
    let reading = Hold()
    /// Holds up whoever gives a file the name of a destination.
    let renaming = Hold()

    func read(
        into buffer: UnsafeMutableRawBufferPointer, from file: OpenFile, at offset: Int64
    ) throws(FileFailure) -> Int {
        if file.name.hasSuffix(".partial") { reading.pass() }
        return try base.read(into: buffer, from: file, at: offset)
    }

    func rename(_ path: String, to destination: String) throws(FileFailure) {
        if !PartialNames.lastComponent(of: destination).hasPrefix(".") { renaming.pass() }
        try base.rename(path, to: destination)
    }

    func lock(_ file: OpenFile) throws(FileFailure) -> Bool { try base.lock(file) }

    func availableSpace(in directory: String) throws(FileFailure) -> Int64? {
        try base.availableSpace(in: directory)
    }

    func open(_ path: String, _ purpose: OpenPurpose) throws(FileFailure) -> OpenFile { try base.open(path, purpose) }

    func close(_ file: OpenFile) { base.close(file) }

    func write(_ bytes: UnsafeRawBufferPointer, to file: OpenFile, at offset: Int64) throws(FileFailure) {
        try base.write(bytes, to: file, at: offset)
    }

    func truncate(_ file: OpenFile, to length: Int64) throws(FileFailure) { try base.truncate(file, to: length) }

    func preallocate(_ file: OpenFile, length: Int64) throws(FileFailure) {
        try base.preallocate(file, length: length)
    }

    func setPermissions(_ permissions: FilePermissions, of file: OpenFile) throws(FileFailure) {
        try base.setPermissions(permissions, of: file)
    }

    func synchronize(_ file: OpenFile) throws(FileFailure) { try base.synchronize(file) }

    func synchronizeDirectory(_ path: String) throws(FileFailure) { try base.synchronizeDirectory(path) }

    func information(of file: OpenFile) throws(FileFailure) -> FileInformation { try base.information(of: file) }

    func information(at path: String) throws(FileFailure) -> FileInformation? { try base.information(at: path) }

    func remove(_ path: String) throws(FileFailure) { try base.remove(path) }

    func duplicate(_ file: OpenFile, to path: String) throws(FileFailure) -> OpenFile {
        try base.duplicate(file, to: path)
    }

    func names(in directory: String) throws(FileFailure) -> [String] { try base.names(in: directory) }

    func makeDirectory(_ path: String) throws(FileFailure) { try base.makeDirectory(path) }
}
