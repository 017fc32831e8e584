@testable import AsyncDownloads

/// The real file system, for tests that replace some of its functions.
protocol ForwardingFileSystem: FileSystem {}

/// The file system to which calls are forwarded; it is created once, because it reads the process's creation mask.
private let systemFiles = POSIXFileSystem()

extension ForwardingFileSystem {
    var base: POSIXFileSystem { systemFiles }

    func open(_ path: String, _ purpose: OpenPurpose) throws(FileFailure) -> OpenFile { try base.open(path, purpose) }

    func close(_ file: OpenFile) { base.close(file) }

    func read(
        into buffer: UnsafeMutableRawBufferPointer, from file: OpenFile, at offset: Int64
    ) throws(FileFailure) -> Int {
        try base.read(into: buffer, from: file, at: offset)
    }

    func write(_ bytes: UnsafeRawBufferPointer, to file: OpenFile, at offset: Int64) throws(FileFailure) {
        try base.write(bytes, to: file, at: offset)
    }

    func truncate(_ file: OpenFile, to length: Int64) throws(FileFailure) { try base.truncate(file, to: length) }

    func preallocate(_ file: OpenFile, _ range: Range<Int64>) throws(FileFailure) {
        try base.preallocate(file, range)
    }

    func setPermissions(_ permissions: FilePermissions, of file: OpenFile) throws(FileFailure) {
        try base.setPermissions(permissions, of: file)
    }

    func setAttributes(_ attributes: FileAttributes, of file: OpenFile, in directory: String) {
        base.setAttributes(attributes, of: file, in: directory)
    }

    func setAttribute(_ name: String, to value: [UInt8], of file: OpenFile) throws(FileFailure) {
        try base.setAttribute(name, to: value, of: file)
    }

    func attribute(_ name: String, of file: OpenFile) throws(FileFailure) -> [UInt8]? {
        try base.attribute(name, of: file)
    }

    func synchronize(_ file: OpenFile) throws(FileFailure) { try base.synchronize(file) }

    func checkWrites(to file: OpenFile) throws(FileFailure) { try base.checkWrites(to: file) }

    func synchronizeDirectory(_ path: String) throws(FileFailure) { try base.synchronizeDirectory(path) }

    func lock(_ file: OpenFile) throws(FileFailure) -> Bool { try base.lock(file) }

    func unlock(_ file: OpenFile) { base.unlock(file) }

    func availableSpace(in directory: String) throws(FileFailure) -> Int64? {
        try base.availableSpace(in: directory)
    }

    func information(of file: OpenFile) throws(FileFailure) -> FileInformation { try base.information(of: file) }

    func information(at path: String) throws(FileFailure) -> FileInformation? { try base.information(at: path) }

    func rename(_ path: String, to destination: String) throws(FileFailure) { try base.rename(path, to: destination) }

    func rename(_ path: String, toUnused destination: String) throws(FileFailure) {
        try base.rename(path, toUnused: destination)
    }

    func restrictsNames(in directory: String) -> Bool { base.restrictsNames(in: directory) }

    func volumeKind(of file: OpenFile) -> VolumeKind { base.volumeKind(of: file) }

    var user: UInt32 { base.user }

    var ordinaryPermissions: UInt16 { base.ordinaryPermissions }

    func remove(_ path: String) throws(FileFailure) { try base.remove(path) }

    func duplicate(_ file: OpenFile, to path: String) throws(FileFailure) -> OpenFile {
        try base.duplicate(file, to: path)
    }

    func names(in directory: String) throws(FileFailure) -> [String] { try base.names(in: directory) }

    func makeDirectory(_ path: String) throws(FileFailure) { try base.makeDirectory(path) }

    func copyPermissions(of other: String, to path: String) throws(FileFailure) {
        try base.copyPermissions(of: other, to: path)
    }

    func removeDirectory(_ path: String) throws(FileFailure) { try base.removeDirectory(path) }

    func link(_ path: String, as other: String) throws(FileFailure) { try base.link(path, as: other) }

    func exchange(_ path: String, with other: String) throws(FileFailure) { try base.exchange(path, with: other) }
}
