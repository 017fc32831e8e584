/// Syncs of directories, of which one serves all threads that wait for it.
///
/// A sync of a directory makes all names in it durable. While one runs, further threads wait for the next one, because
/// the running one may not include their changes; then one of them syncs for all.
final class SharedSyncs: Sendable {
    private struct Directory {
        /// The number of threads that sync the directory or wait for it.
        var users = 0
        /// The number of syncs that were begun.
        var begun = 0
        /// The number of the last sync that succeeded.
        var lastSuccess = 0
    }

    private let turns = KeyedLock<String>()
    private let directories = Mutex<[String: Directory]>([:])

    /// Returns after a sync of `directory` that began after this call; `sync` performs one if necessary.
    func synchronize(_ directory: String, _ sync: () throws(FileFailure) -> Void) throws(FileFailure) {
        let arrival = directories.withLock { directories in
            directories[directory, default: Directory()].users += 1
            return directories[directory, default: Directory()].begun
        }
        defer { leave(directory) }
        try turns.withLock(directory) { () throws(FileFailure) in
            let number = directories.withLock { directories -> Int? in
                guard var present = directories[directory], present.lastSuccess <= arrival else { return nil }
                present.begun += 1
                directories[directory] = present
                return present.begun
            }
            guard let number else { return }
            try sync()
            directories.withLock { $0[directory]?.lastSuccess = number }
        }
    }

    /// The number of threads that sync the directory or wait for it.
    func userCount(of directory: String) -> Int { directories.withLock { $0[directory]?.users ?? 0 } }

    private func leave(_ directory: String) {
        directories.withLock { directories in
            directories[directory]?.users -= 1
            if directories[directory]?.users == 0 { directories[directory] = nil }
        }
    }
}
