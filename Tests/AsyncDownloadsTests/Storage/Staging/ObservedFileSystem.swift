@testable import AsyncDownloads

/// The real file system, with a record of some calls, and closures that act as another program between two calls.
final class ObservedFileSystem: ForwardingFileSystem {
    private let recorded = Mutex<[String]>([])
    private let willExchange: @Sendable () -> Void
    private let sawNothing: @Sendable (String) -> Void

    /// Creates the file system.
    ///
    /// - Parameters:
    ///   - willExchange: A closure that is called before two directories are exchanged.
    ///   - sawNothing: A closure that is called with each path at which no object was found.
    init(
        willExchange: @escaping @Sendable () -> Void = {}, sawNothing: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.willExchange = willExchange
        self.sawNothing = sawNothing
    }

    /// The syncs, the names that files have got, and the links, each with the last component of its path.
    var steps: [String] { recorded.withLock { $0 } }

    private func record(_ step: String, _ path: String) {
        recorded.withLock { $0.append("\(step) \(PartialNames.lastComponent(of: path))") }
    }

    func synchronize(_ file: OpenFile) throws(FileFailure) {
        record("sync", file.name)
        try base.synchronize(file)
    }

    func synchronizeDirectory(_ path: String) throws(FileFailure) {
        record("sync", path)
        try base.synchronizeDirectory(path)
    }

    func rename(_ path: String, to destination: String) throws(FileFailure) {
        record("name", destination)
        try base.rename(path, to: destination)
    }

    func link(_ path: String, as other: String) throws(FileFailure) {
        record("link", other)
        try base.link(path, as: other)
    }

    func exchange(_ path: String, with other: String) throws(FileFailure) {
        willExchange()
        try base.exchange(path, with: other)
    }

    func information(at path: String) throws(FileFailure) -> FileInformation? {
        let found = try base.information(at: path)
        if found == nil { sawNothing(path) }
        return found
    }
}
