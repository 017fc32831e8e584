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
        /// The result of the last sync, and its number.
        var last: (number: Int, result: Result<Void, FileFailure>)?
    }

    private let turns = KeyedLock<ByteText>()
    private let directories = Mutex<[ByteText: Directory]>([:])

    /// Returns the result of a sync of `directory` that began after this call; `sync` performs one if necessary.
    func synchronize(_ directory: String, _ sync: () throws(FileFailure) -> Void) throws(FileFailure) {
        let directory = ByteText(directory)
        let arrival = directories.withLock { directories in
            directories[directory, default: Directory()].users += 1
            return directories[directory, default: Directory()].begun
        }
        defer { leave(directory) }
        try turns.withLock(directory) { () throws(FileFailure) in
            let (number, shared) = directories.withLock { directories in
                var present = directories[directory] ?? Directory()
                if let last = present.last, last.number > arrival { return (0, Optional(last.result)) }
                present.begun += 1
                directories[directory] = present
                return (present.begun, nil)
            }
            if let shared { return try shared.get() }
            let result = Result { () throws(FileFailure) in try sync() }
            directories.withLock { $0[directory]?.last = (number, result) }
            try result.get()
        }
    }

    /// The number of threads that sync the directory or wait for it.
    func userCount(of directory: String) -> Int { directories.withLock { $0[ByteText(directory)]?.users ?? 0 } }

    private func leave(_ directory: ByteText) {
        directories.withLock { directories in
            directories[directory]?.users -= 1
            if directories[directory]?.users == 0 { directories[directory] = nil }
        }
    }
}
