@testable internal import AsyncDownloads

/// A case-insensitive file system on top of the real one.
struct FoldingFileSystem: ForwardingFileSystem {
    /// Returns the path with its last component in lower case, unless that is the unique name of a
    /// hidden file or of the temporary directory of a test.
    private func folded(_ path: String) -> String {
        let name = PartialNames.lastComponent(of: path)
        guard !name.hasPrefix("."), !name.hasPrefix("async-downloads-") else { return path }
        return PartialNames.join(PartialNames.directory(of: path), name.lowercased())
    }

    func open(_ path: String, _ purpose: OpenPurpose) throws(FileFailure) -> OpenFile {
        try base.open(folded(path), purpose)
    }

    func information(at path: String) throws(FileFailure) -> FileInformation? {
        try base.information(at: folded(path))
    }

    func rename(_ path: String, to destination: String) throws(FileFailure) {
        try base.rename(folded(path), to: folded(destination))
    }

    func rename(_ path: String, toUnused destination: String) throws(FileFailure) {
        try base.rename(folded(path), toUnused: folded(destination))
    }

    func remove(_ path: String) throws(FileFailure) { try base.remove(folded(path)) }

    func duplicate(_ file: OpenFile, to path: String) throws(FileFailure) -> OpenFile {
        try base.duplicate(file, to: folded(path))
    }
}
