@testable import AsyncDownloads

/// The real file system with a count of listings, other volumes, and names that belong to another user.
///
/// Another user's file in a shared directory with the sticky bit can be neither removed nor replaced by this user.
final class SharedDirectoryFileSystem: ForwardingFileSystem {
    private struct State {
        var listingCount = 0
        var foreignNames: Set<String> = []
    }

    private let state = Mutex(State())
    /// Whether locks are supported.
    let hasLocks: Bool
    /// A directory that is on another volume, if any.
    let otherVolume: String?

    init(hasLocks: Bool = true, otherVolume: String? = nil) {
        self.hasLocks = hasLocks
        self.otherVolume = otherVolume
    }

    /// The number of times that a directory was listed since the last call.
    func takeListingCount() -> Int {
        state.withLock { state in
            defer { state.listingCount = 0 }
            return state.listingCount
        }
    }

    /// Makes the file at `path` belong to another user.
    func giveAway(_ path: String) {
        state.withLock { _ = $0.foreignNames.insert(PartialNames.lastComponent(of: path)) }
    }

    private func isForeign(_ path: String) -> Bool {
        state.withLock { $0.foreignNames.contains(PartialNames.lastComponent(of: path)) }
    }

    private func checkOwner(_ path: String, _ operation: String) throws(FileFailure) {
        guard isForeign(path), try base.information(at: path) != nil else { return }
        throw FileFailure(
            .denied, errno: 0, operation: operation, name: PartialNames.lastComponent(of: path), reason: "pretended")
    }

    private func owned(_ information: FileInformation, _ path: String) -> FileInformation {
        var information = information
        if isForeign(path) { information.owner = user + 1 }
        return information
    }

    func open(_ path: String, _ purpose: OpenPurpose) throws(FileFailure) -> OpenFile {
        if purpose != .new, try base.information(at: path)?.kind == .regular { try checkOwner(path, "open") }
        return try base.open(path, purpose)
    }

    func lock(_ file: OpenFile) throws(FileFailure) -> Bool {
        if hasLocks { return try base.lock(file) }
        throw FileFailure(.unsupported, errno: 0, operation: "lock", name: file.name, reason: "no locks")
    }

    func information(of file: OpenFile) throws(FileFailure) -> FileInformation {
        owned(try base.information(of: file), file.name)
    }

    func information(at path: String) throws(FileFailure) -> FileInformation? {
        try base.information(at: path).map { owned($0, path) }
    }

    func rename(_ path: String, to destination: String) throws(FileFailure) {
        try checkVolume(path, destination)
        try checkOwner(destination, "replace")
        try base.rename(path, to: destination)
    }

    func rename(_ path: String, toUnused destination: String) throws(FileFailure) {
        try checkVolume(path, destination)
        try base.rename(path, toUnused: destination)
    }

    func remove(_ path: String) throws(FileFailure) {
        try checkOwner(path, "remove")
        try base.remove(path)
    }

    func names(in directory: String) throws(FileFailure) -> [String] {
        state.withLock { $0.listingCount += 1 }
        return try base.names(in: directory)
    }

    private func checkVolume(_ path: String, _ destination: String) throws(FileFailure) {
        guard let otherVolume, path.hasPrefix(otherVolume) != destination.hasPrefix(otherVolume) else { return }
        throw FileFailure(.crossDevice, errno: 0, operation: "rename", name: "a file", reason: "pretended")
    }
}
