internal import Dispatch

extension Download {
    /// What another process or machine needs to go on with what is on disk now.
    ///
    /// ```swift
    /// download.pause()
    /// for try await event in download.events { if case .paused = event { break } }
    /// let token = try await download.resumeToken
    /// ```
    ///
    /// It is nil where nothing is on disk that anybody could go on from: before the first checkpoint, after the end, for
    /// a body in memory, and while bytes from another URL are still to be proven. Its partial file is in the destination's
    /// directory, or in ``Downloader/Configuration/partialsDirectory``, and gets another name when this or another
    /// process goes on with it. Take it after ``DownloadEvent/paused(receivedByteCount:)`` or the end of the download.
    ///
    /// - Throws: A ``DownloadError`` with ``DownloadError/Code/resumeDataUnusable`` where what is on disk makes no token.
    public var resumeToken: ResumeToken? {
        get async throws(DownloadError) {
            guard case .transfer(let transfer, _) = source else { return nil }
            let unfinished: UnfinishedPartial? = await withCheckedContinuation { continuation in
                DispatchQueue.global().async {
                    continuation.resume(returning: transfer.environment.store.unfinished(at: transfer.location))
                }
            }
            guard let unfinished else { return nil }
            return try ResumeToken(unfinished, destination: request.destination)
        }
    }
}
