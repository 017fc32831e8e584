@testable import AsyncDownloads

/// The real file system but for its locks, its free space and what it refuses.
struct PretendingFileSystem: ForwardingFileSystem {
    enum Locks: Sendable {
        /// They work, after something else has happened.
        case working(after: @Sendable () -> Void)
        /// Every attempt succeeds, as on a network file system that pretends.
        case pretended
        /// Every attempt fails.
        case missing
    }

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
