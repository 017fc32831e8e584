public import Foundation

/// The unfinished downloads and hidden files that earlier processes left.
extension Downloader {
    /// Returns the unfinished downloads that earlier processes left in `directory`, each one paused.
    ///
    /// ``Download/resume()`` continues a download from its bytes; ``Download/discard()`` removes it. If this downloader
    /// is already downloading the resource, the returned download joins that transfer. For a download of this process
    /// that hasn't ended, another handle is returned, and its state doesn't change.
    ///
    /// Each download has the ``Download/id`` and the ``DownloadRequest/userInfo`` that it had when its bytes were last
    /// recorded. If several downloads shared a transfer, each one is returned, up to 16. Of the other properties of a
    /// request, these are recorded: ``DownloadRequest/url``, ``DownloadRequest/identity``, ``DownloadRequest/account``,
    /// the nonsecret headers, ``DownloadRequest/destination``, ``DownloadRequest/defaultFileName``, and
    /// ``DownloadRequest/checksum``. All others have their defaults, such as ``DownloadRequest/networkAccess`` and the
    /// closures; `prepare` may set them.
    ///
    /// Secret headers are never written to disk; `prepare` may add them to a request before it is used. It must check
    /// ``DownloadRequest/url`` first. If `directory` contains files from others, for example the contents of an
    /// archive, one of them may be a checkpoint with an arbitrary URL, whose server would receive the credentials that
    /// `prepare` adds.
    ///
    /// The result contains the unfinished downloads of this user whose destination is below `directory` on a path
    /// without symbolic links. It is empty if `directory` doesn't exist. A destination elsewhere is accepted only in
    /// ``Configuration/partialsDirectory``, and only if no other user can write to that directory. On Apple platforms,
    /// a destination in the container of the app or of one of the ``Configuration/appGroupIdentifiers`` is found again
    /// after an update of the app has moved the container.
    ///
    /// - Parameters:
    ///   - directory: The directory of the unfinished files: the directory of the destinations, or
    ///     ``Configuration/partialsDirectory``.
    ///   - includingSubdirectories: Whether the directories below `directory` are searched as well, each one under the
    ///     conditions above, but without accepting destinations elsewhere. The search covers 32 levels and 10,000
    ///     directories. Symbolic links aren't followed. Subdirectories that can't be read, or to which every user can
    ///     write, are omitted. Default: `false`.
    ///   - prepare: A closure that is called with each request, one after another.
    /// - Throws: A ``DownloadError`` if the directory can't be read; ``DownloadError/Code/unsupported`` for a
    ///   background session, whose downloads ``restored()`` returns.
    public func restore(
        in directory: URL, includingSubdirectories: Bool = false,
        prepare: @Sendable (inout DownloadRequest) -> Void = { _ in }
    ) async throws(DownloadError) -> [Download] {
        try await restore(
            in: directory, includingSubdirectories: includingSubdirectories, excluding: [], prepare: prepare)
    }

    /// Returns the unfinished downloads whose IDs aren't excluded; see
    /// ``restore(in:includingSubdirectories:prepare:)``.
    func restore(
        in directory: URL, includingSubdirectories: Bool, excluding known: Set<Download.ID>,
        prepare: @Sendable (inout DownloadRequest) -> Void
    ) async throws(DownloadError) -> [Download] {
        guard background == nil else {
            throw DownloadError(.unsupported, "the downloads of a background session are in its journal")
        }
        let (store, path) = (environment.store, directory.filePath)
        let isConfigured =
            configuration.partialsDirectory.map { $0.standardizedFileURL.path == directory.standardizedFileURL.path }
            ?? false
        let found = try await environment.registry.performBlocking { () throws(DownloadError) in
            try store.unfinished(
                in: path, includingSubdirectories: includingSubdirectories, trustsDestinations: isConfigured)
        }
        let downloads = found.flatMap { unfinished in
            unfinished.downloads(in: environment.containers).map { (id: $0.id, request: $0.request, unfinished) }
        }.filter { !known.contains($0.id) }
        let ids = Set(downloads.map(\.id))
        let running = Dictionary(handles { id, _ in ids.contains(id) }.map { ($0.id, $0) }) { first, _ in first }
        return downloads.map { id, request, unfinished in
            if let download = running[id] { return download }
            var request = request
            let recorded = request
            prepare(&request)
            // The checkpoint must not be able to declare the name of a secret header that `prepare` sets nonsecret.
            if request.nonsecretHeaders == recorded.nonsecretHeaders {
                request.nonsecretHeaders = recorded.nonsecretHeaders.filter { name in
                    request.headers.values(for: name) == recorded.headers.values(for: name)
                }
            }
            return startDownload(request, id: id, isRunning: false, continuing: unfinished)
        }
    }

    /// Returns the disk space that unfinished downloads occupy in `directory`, for example for the settings of an app.
    ///
    /// The files of running downloads are counted in their current state. For a directory that doesn't exist, all
    /// numbers are 0.
    ///
    /// - Parameters:
    ///   - directory: A directory of destinations, or ``Configuration/partialsDirectory``.
    ///   - includingSubdirectories: Whether the directories below `directory` are searched as well, as by
    ///     ``restore(in:includingSubdirectories:prepare:)``. Default: `false`.
    /// - Throws: A ``DownloadError`` if the directory can't be read.
    public func diskUsage(
        in directory: URL, includingSubdirectories: Bool = false
    ) async throws(DownloadError) -> DiskUsage {
        let (store, path) = (environment.store, directory.filePath)
        return try await environment.registry.performBlocking { () throws(DownloadError) in
            try store.diskUsage(in: path, includingSubdirectories: includingSubdirectories)
        }
    }

    /// Removes the hidden files in `directory` that no download can continue.
    ///
    /// A process that is killed while it downloads a body without a strong validator leaves a partial file and a lock
    /// file. The next request for the same file removes them; this method removes them for files that aren't requested
    /// again. It removes files of this user whose names match the package's pattern, that were last written longer ago
    /// than `age`, that no checkpoint names, and whose lock no process holds. Paused and unfinished downloads are kept.
    /// The method has no effect on a directory that doesn't exist.
    ///
    /// - Parameters:
    ///   - directory: A directory of destinations, or ``Configuration/partialsDirectory``.
    ///   - includingSubdirectories: Whether the directories below `directory` are searched as well, as by
    ///     ``restore(in:includingSubdirectories:prepare:)``. Default: `false`.
    ///   - age: The minimum time since the files were last written. Default: one day.
    /// - Returns: The number and the size of the removed files.
    /// - Throws: A ``DownloadError`` if the directory can't be read.
    @discardableResult
    public func removeLeftovers(
        in directory: URL, includingSubdirectories: Bool = false, olderThan age: Duration = .seconds(86_400)
    ) async throws(DownloadError) -> RemovedLeftovers {
        let (store, path) = (environment.store, directory.filePath)
        let limit = HTTPDate(
            secondsSinceEpoch: environment.time.date.secondsSinceEpoch - max(0, age.components.seconds))
        return try await environment.registry.performBlocking { () throws(DownloadError) in
            try store.removeLeftovers(
                in: path, includingSubdirectories: includingSubdirectories, writtenBefore: limit)
        }
    }
}
