extension Download {
    /// A token that lets another process or machine continue this download.
    ///
    /// ```swift
    /// download.pause()
    /// for try await event in download.events { if case .paused = event { break } }
    /// let token = try await download.resumeToken
    /// ```
    ///
    /// The value is `nil` if no bytes on disk can be continued: before the first checkpoint, after the file is
    /// complete, for a download into memory, for a request that was refused before it started, and while bytes that
    /// came from another URL are unverified. It is always `nil` for a download in a background session.
    ///
    /// The partial file is in the directory of the destination, or in ``Downloader/Configuration/partialsDirectory``.
    /// Its name may change when this or another process continues the download. Read this property after
    /// ``DownloadEvent/paused(receivedByteCount:)``, or after the download has ended, but before
    /// ``Downloader/shutdown()``.
    ///
    /// - Throws: A ``DownloadError`` with the code ``DownloadError/Code/resumeDataUnusable`` if a token can't represent
    ///   the bytes on disk, or with the code ``DownloadError/Code/shutDown`` after the downloader was shut down.
    public var resumeToken: ResumeToken? {
        get async throws(DownloadError) {
            guard let transfer = foregroundTransfer else { return nil }
            let unfinished = try await transfer.environment.registry.performBlocking { () throws(DownloadError) in
                transfer.environment.store.unfinished(at: transfer.location)
            }
            guard let unfinished else { return nil }
            return try ResumeToken(unfinished, destination: request.destination)
        }
    }
}
