public import Foundation

extension Downloader {
    /// Removes from `directory` the hidden files that no download can continue.
    ///
    /// A process that is killed while it downloads a body without a strong validator leaves a partial file and a lock. The
    /// next request for the same file removes them; this removes those that nobody requests again. Removed are files of
    /// this user whose names match the package's pattern, that were last written longer ago than `age`, that no
    /// checkpoint names, and whose lock no process holds. Paused and unfinished downloads stay.
    ///
    /// - Parameters:
    ///   - directory: A directory of destinations, or ``Configuration/partialsDirectory``; directories in it are not
    ///     searched.
    ///   - age: How long ago the files were last written, at least. Default: a day.
    /// - Throws: A ``DownloadError`` when the directory cannot be read.
    @discardableResult
    public func removeLeftovers(
        in directory: URL, olderThan age: Duration = .seconds(86_400)
    ) async throws(DownloadError) -> RemovedLeftovers {
        let (store, path) = (environment.store, directory.path)
        let limit = HTTPDate(
            secondsSinceEpoch: environment.time.date.secondsSinceEpoch - max(0, age.components.seconds))
        let removed = await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                let result = Result { () throws(DownloadError) in
                    try store.removeLeftovers(in: path, writtenBefore: limit)
                }
                continuation.resume(returning: result)
            }
        }
        return try removed.get()
    }
}
