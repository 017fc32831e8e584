/// The syncs of several files to a drive whose cache one of them writes for all.
struct SharedFlush {
    /// Syncs a file, and writes the drive's cache; returns the failure.
    let flush: (OpenFile) -> FileFailure?
    /// Writes a file to the drive's cache, and returns the failure.
    let write: (OpenFile) -> FileFailure?

    /// Syncs the files, and returns the failure of each one, or nil.
    ///
    /// No file is flushed a second time, because a sync that follows a failed one may succeed although bytes could not
    /// be written (rule 45). After a failure, one file's success says nothing about the others.
    func failures(of files: [OpenFile]) -> [FileFailure?] {
        guard files.count > 1 else { return files.map(flush) }
        var failures = files.map(write)
        var hasFailed = false
        for index in files.indices where failures[index] == nil {
            failures[index] = flush(files[index])
            if failures[index] != nil { hasFailed = true }
            if !hasFailed { break }
        }
        return failures
    }
}
