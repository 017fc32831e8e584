@testable import AsyncDownloads

/// The real file system but for its locks, its free space and what it refuses.
struct PretendingFileSystem: FileSystem {
    enum Locks: Sendable {
        /// They work, after something else has happened.
        case working(after: @Sendable () -> Void)
        /// Every attempt succeeds, as on a network file system that pretends.
        case pretended
        /// Every attempt fails.
        case missing
    }

    let base = POSIXFileSystem()
    var locks: Locks
    /// What is left on the disk, where not the truth.
    var space: Int64?
    /// What closing a file would fail with.
    var closing: FileFailure.Kind?
    /// Why a file or directory cannot be opened, where it cannot.
    var refusal: @Sendable (_ path: String, _ purpose: OpenPurpose) -> FileFailure.Kind? = { _, _ in nil }

    func lock(_ file: OpenFile) throws(FileFailure) -> Bool {
        switch locks {
        case .working(let interruption):
            interruption()
            return try base.lock(file)
        case .pretended: return true
        case .missing:
            throw FileFailure(.unsupported, errno: 0, operation: "lock", name: file.name, reason: "no locks")
        }
    }

    func availableSpace(in directory: String) throws(FileFailure) -> Int64? {
        if let space { return space }
        return try base.availableSpace(in: directory)
    }

    func open(_ path: String, _ purpose: OpenPurpose) throws(FileFailure) -> OpenFile {
        try refuse(path, purpose)
        return try base.open(path, purpose)
    }

    private func refuse(_ path: String, _ purpose: OpenPurpose) throws(FileFailure) {
        guard let kind = refusal(path, purpose) else { return }
        throw FileFailure(kind, errno: 0, operation: "open", name: "a file", reason: "pretended")
    }

    func close(_ file: OpenFile) { base.close(file) }

    func write(_ bytes: UnsafeRawBufferPointer, to file: OpenFile, at offset: Int64) throws(FileFailure) {
        try base.write(bytes, to: file, at: offset)
    }

    func read(
        into buffer: UnsafeMutableRawBufferPointer, from file: OpenFile, at offset: Int64
    ) throws(FileFailure) -> Int {
        try base.read(into: buffer, from: file, at: offset)
    }

    func truncate(_ file: OpenFile, to length: Int64) throws(FileFailure) { try base.truncate(file, to: length) }

    func preallocate(_ file: OpenFile, length: Int64) throws(FileFailure) {
        try base.preallocate(file, length: length)
    }

    func setPermissions(_ permissions: FilePermissions, of file: OpenFile) throws(FileFailure) {
        try base.setPermissions(permissions, of: file)
    }

    func synchronize(_ file: OpenFile) throws(FileFailure) { try base.synchronize(file) }

    func checkWrites(to file: OpenFile) throws(FileFailure) {
        if let closing {
            throw FileFailure(closing, errno: 0, operation: "close", name: file.name, reason: "reported late")
        }
        try base.checkWrites(to: file)
    }

    func synchronizeDirectory(_ path: String) throws(FileFailure) {
        try refuse(path, .existing)
        try base.synchronizeDirectory(path)
    }

    func information(of file: OpenFile) throws(FileFailure) -> FileInformation { try base.information(of: file) }

    func information(at path: String) throws(FileFailure) -> FileInformation? { try base.information(at: path) }

    func rename(_ path: String, to destination: String) throws(FileFailure) { try base.rename(path, to: destination) }

    func remove(_ path: String) throws(FileFailure) { try base.remove(path) }

    func duplicate(_ file: OpenFile, to path: String) throws(FileFailure) -> OpenFile {
        try base.duplicate(file, to: path)
    }

    func names(in directory: String) throws(FileFailure) -> [String] { try base.names(in: directory) }

    func makeDirectory(_ path: String) throws(FileFailure) { try base.makeDirectory(path) }
}
