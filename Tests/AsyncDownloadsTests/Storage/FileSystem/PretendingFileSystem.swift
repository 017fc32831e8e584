@testable import AsyncDownloads

/// The real file system with different locks, space, volume kind, owners, and failures.
struct PretendingFileSystem: ForwardingFileSystem {
    enum Locks: Sendable {
        /// Locks work; the closure is called before each attempt.
        case working(after: @Sendable () -> Void)
        /// Every attempt succeeds, as on some network file systems.
        case pretended
        /// Every attempt fails, as on a file system without locks.
        case missing
    }

    var locks: Locks
    /// The available space, if it is not the real one.
    var space: Int64?
    /// The kind of the volume, if it is not the real one.
    var volume: VolumeKind?
    /// The owner and the permissions of a file, if they are not the real ones.
    var ownership: @Sendable (_ name: String) -> (owner: UInt32, permissions: UInt16)? = { _ in nil }
    /// The failure of writing a file, or of syncing it.
    var writing: @Sendable (_ name: String) -> FileFailure.Kind? = { _ in nil }
    var syncing: @Sendable (_ name: String) -> FileFailure.Kind? = { _ in nil }
    /// The failure that closing a file would report.
    var closing: FileFailure.Kind?
    /// The failure of opening a file or directory.
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

    func volumeKind(of file: OpenFile) -> VolumeKind { volume ?? base.volumeKind(of: file) }

    func information(of file: OpenFile) throws(FileFailure) -> FileInformation {
        owned(try base.information(of: file), file.name)
    }

    func information(at path: String) throws(FileFailure) -> FileInformation? {
        try base.information(at: path).map { owned($0, PartialNames.lastComponent(of: path)) }
    }

    private func owned(_ information: FileInformation, _ name: String) -> FileInformation {
        var information = information
        if let ownership = ownership(name) {
            (information.owner, information.permissions) = ownership
        }
        return information
    }

    func write(_ bytes: UnsafeRawBufferPointer, to file: OpenFile, at offset: Int64) throws(FileFailure) {
        if let kind = writing(file.name) {
            throw FileFailure(kind, errno: 0, operation: "write", name: file.name, reason: "pretended")
        }
        try base.write(bytes, to: file, at: offset)
    }

    func synchronize(_ file: OpenFile) throws(FileFailure) {
        if let kind = syncing(file.name) {
            throw FileFailure(kind, errno: 0, operation: "sync", name: file.name, reason: "pretended")
        }
        try base.synchronize(file)
    }

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
}
