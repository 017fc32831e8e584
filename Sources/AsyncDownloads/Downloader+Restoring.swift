public import Foundation

/// What earlier processes have left.
extension Downloader {
    /// Lists what earlier processes left unfinished in `directory`, each as a paused download.
    ///
    /// ``Download/resume()`` continues one from its bytes; ``Download/discard()`` removes it. What is being downloaded
    /// by this downloader already is joined.
    ///
    /// Secret headers are never on disk: `prepare` may add them to a request before it is used. It must look at
    /// ``DownloadRequest/url`` first. What others can write to `directory`, such as the contents of an archive, may
    /// include a checkpoint that asks for any URL, and would get the credentials that `prepare` adds.
    ///
    /// Listed are the unfinished files of this user whose destination is below `directory`, with no symbolic link on the
    /// way. A destination elsewhere counts in ``Configuration/partialsDirectory`` only, and only if nobody but this user
    /// can write to that directory.
    ///
    /// - Parameters:
    ///   - directory: Where the unfinished files are: the destinations' directory, or
    ///     ``Configuration/partialsDirectory``.
    ///   - prepare: Called with each request in turn.
    /// - Throws: A ``DownloadError`` when the directory cannot be read.
    public func restore(
        in directory: URL, prepare: @Sendable (inout DownloadRequest) -> Void = { _ in }
    ) async throws(DownloadError) -> [Download] {
        let (store, path) = (environment.store, directory.path)
        let isConfigured =
            configuration.partialsDirectory.map { $0.standardizedFileURL.path == directory.standardizedFileURL.path }
            ?? false
        let found = await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                let result = Result { () throws(DownloadError) in
                    try store.unfinished(in: path, trustsDestinations: isConfigured)
                }
                continuation.resume(returning: result)
            }
        }
        return try found.get().compactMap { unfinished in
            guard var request = DownloadRequest(unfinished) else { return nil }
            let recorded = request
            prepare(&request)
            // A name that a checkpoint declares must not make a secret public that `prepare` sets under it.
            if request.nonsecretHeaders == recorded.nonsecretHeaders {
                request.nonsecretHeaders = recorded.nonsecretHeaders.filter { name in
                    request.headers.values(for: name) == recorded.headers.values(for: name)
                }
            }
            return startDownload(request, isRunning: false, continuing: unfinished)
        }
    }

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
