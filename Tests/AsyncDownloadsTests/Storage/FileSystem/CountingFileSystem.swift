@testable import AsyncDownloads

/// The real file system, which counts how often directories are listed.
final class CountingFileSystem: ForwardingFileSystem {
    private let count = Mutex(0)

    /// The number of directories that were listed.
    var listings: Int { count.withLock { $0 } }

    func names(in directory: String) throws(FileFailure) -> [String] {
        count.withLock { $0 += 1 }
        return try base.names(in: directory)
    }
}
