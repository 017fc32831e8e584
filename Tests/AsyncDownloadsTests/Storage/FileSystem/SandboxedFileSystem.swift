internal import Foundation

@testable import AsyncDownloads

/// The real file system as seen by a sandboxed app that may access single files of a directory, but neither the
/// directory nor other files in it.
final class SandboxedFileSystem: ForwardingFileSystem {
    /// The renames that give an accessible file its name.
    enum Renames: Sendable, Hashable, CaseIterable {
        case permitted
        /// All other files are on another volume.
        case permittedFromReplacementDirectories
        case denied
    }

    private struct State {
        var replacementDirectoryCount = 0
        var replacementCount = 0
        var accessCount = 0
        var needsAccess = false
        var replacing: FileFailure.Kind?
        var copying: FileFailure.Kind?
    }

    private let state = Mutex(State())
    private let directory: String
    private let files: Set<String>
    private let renames: Renames
    private let replacements: String?

    /// - Parameters:
    ///   - directory: The directory that may not be accessed.
    ///   - files: The paths of the accessible files in the directory.
    ///   - replacements: The directory for replacement directories; nil if the system has none.
    init(_ directory: String, files: Set<String>, _ renames: Renames, replacingIn replacements: String?) {
        self.directory = directory
        self.files = files
        self.renames = renames
        self.replacements = replacements
    }

    /// The number of replacement directories that were created.
    var replacementDirectoryCount: Int { state.withLock { $0.replacementDirectoryCount } }

    /// The number of files that were replaced without a rename.
    var replacementCount: Int { state.withLock { $0.replacementCount } }

    /// The number of accesses to URLs that haven't ended.
    var accessCount: Int { state.withLock { $0.accessCount } }

    /// Denies access to all files of the directory unless access to a URL has been started.
    func requireAccess() { state.withLock { $0.needsAccess = true } }

    /// Makes replacements without a rename fail; nil ends the failures.
    func failReplacing(_ kind: FileFailure.Kind?) { state.withLock { $0.replacing = kind } }

    /// Makes copies to replacement directories fail.
    func failCopying(_ kind: FileFailure.Kind) { state.withLock { $0.copying = kind } }

    func makeReplacementDirectory(for path: String) throws(FileFailure) -> String? {
        guard let replacements else { return nil }
        let number = state.withLock { state in
            state.replacementDirectoryCount += 1
            return state.replacementDirectoryCount
        }
        let directory = "\(replacements)/\(number)"
        try base.makeDirectory(directory)
        return directory
    }

    func removeReplacementDirectory(_ path: String) { _ = rmdir(path) }

    func replaceItem(at path: String, by source: String) throws(FileFailure) {
        if let kind = state.withLock({ $0.replacing }) { throw Self.failure(kind, "replace", path) }
        try base.rename(source, to: path)
        state.withLock { $0.replacementCount += 1 }
    }

    func access(to url: URL) -> (any AnyObject & Sendable)? {
        guard files.contains(url.path) else { return nil }
        state.withLock { $0.accessCount += 1 }
        return Access(self)
    }

    private final class Access: Sendable {
        private let disk: SandboxedFileSystem

        init(_ disk: SandboxedFileSystem) { self.disk = disk }

        deinit { disk.state.withLock { $0.accessCount -= 1 } }
    }

    func open(_ path: String, _ purpose: OpenPurpose) throws(FileFailure) -> OpenFile {
        try check(path, "open")
        return try base.open(path, purpose)
    }

    func information(at path: String) throws(FileFailure) -> FileInformation? {
        try check(path, "examine")
        return try base.information(at: path)
    }

    func rename(_ path: String, to destination: String) throws(FileFailure) {
        try checkRename(path, destination)
        try base.rename(path, to: destination)
    }

    func rename(_ path: String, toUnused destination: String) throws(FileFailure) {
        try checkRename(path, destination)
        try base.rename(path, toUnused: destination)
    }

    func remove(_ path: String) throws(FileFailure) {
        try check(path, "remove")
        try base.remove(path)
    }

    func duplicate(_ file: OpenFile, to path: String) throws(FileFailure) -> OpenFile {
        try check(path, "create")
        if let kind = state.withLock({ $0.copying }), isReplacement(path) { throw Self.failure(kind, "create", path) }
        return try base.duplicate(file, to: path)
    }

    func names(in directory: String) throws(FileFailure) -> [String] {
        try check(directory, "list")
        return try base.names(in: directory)
    }

    func makeDirectory(_ path: String) throws(FileFailure) {
        try check(path, "create the directory")
        try base.makeDirectory(path)
    }

    func synchronizeDirectory(_ path: String) throws(FileFailure) {
        try check(path, "open")
        try base.synchronizeDirectory(path)
    }

    private func checkRename(_ path: String, _ destination: String) throws(FileFailure) {
        try check(destination, "rename to")
        guard files.contains(destination) else { return }
        switch renames {
        case .permitted: break
        case .permittedFromReplacementDirectories:
            if !isReplacement(path) { throw Self.failure(.crossDevice, "rename to", destination) }
        case .denied: throw Self.failure(.denied, "rename to", destination)
        }
    }

    /// Throws if the path is in the directory, and may not be accessed.
    private func check(_ path: String, _ operation: String) throws(FileFailure) {
        guard path == directory || path.hasPrefix(directory + "/") else { return }
        let isDenied = state.withLock { $0.needsAccess && $0.accessCount == 0 }
        if isDenied || !files.contains(path) { throw Self.failure(.denied, operation, path) }
    }

    private func isReplacement(_ path: String) -> Bool { replacements.map { path.hasPrefix($0 + "/") } ?? false }

    private static func failure(_ kind: FileFailure.Kind, _ operation: String, _ path: String) -> FileFailure {
        FileFailure(
            kind, errno: 0, operation: operation, name: PartialNames.lastComponent(of: path), reason: "pretended")
    }
}
