internal import Foundation

/// A directory for the files of one measurement.
struct TemporaryDirectory: Sendable {
    let url: URL

    /// Creates a directory with a new name that contains `purpose`.
    init(_ purpose: String) throws {
        try self.init(purpose, in: FileManager.default.temporaryDirectory)
    }

    private init(_ purpose: String, in parent: URL) throws {
        url = parent.appending(path: "benchmark-\(purpose)-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    /// Creates a directory with a new name that contains `purpose` in this directory.
    func directory(_ purpose: String) throws -> Self { try Self(purpose, in: url) }

    /// Returns the URL of a file in the directory.
    func file(_ name: String) -> URL { url.appending(path: name, directoryHint: .notDirectory) }

    /// Removes the directory with its contents.
    func remove() {
        // What remains is in the system's temporary directory.
        try? FileManager.default.removeItem(at: url)
    }
}
