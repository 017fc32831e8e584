public import Foundation

/// The import of bytes that URLSession, another process, or another machine has received.
extension Downloader {
    /// Adopts an unfinished download of URLSession and continues it as a file at `destination`.
    ///
    /// ```swift
    /// let resumeData = try ResumeData(contentsOf: savedFile)
    /// let download = try await downloader.adopt(resumeData, to: destination)
    /// let file = try await download.file
    /// ```
    ///
    /// See ``adopt(_:as:temporaryFileIn:responseDate:)`` for what happens to the bytes.
    @discardableResult
    public func adopt(
        _ resumeData: ResumeData, to destination: URL, temporaryFileIn directory: URL? = nil,
        responseDate: Date? = nil
    ) async throws(DownloadError) -> Download {
        try await adopt(
            resumeData, as: DownloadRequest(from: resumeData.downloadURL, to: destination),
            temporaryFileIn: directory, responseDate: responseDate)
    }

    /// Adopts an unfinished download of URLSession and continues it as `request`, whose URL may be a different one.
    ///
    /// The bytes of the temporary file are cloned or copied to the location of the unfinished file of `request`. The
    /// download then runs like one that ``start(_:)`` returns. Whether the bytes are used depends on the server's
    /// response and on the bytes that are already kept:
    ///
    /// - If the server still has the object with its strong validator, the bytes are used. If the URL of `request`
    ///   isn't ``ResumeData/downloadURL``, the server's response has to state the validator explicitly. Otherwise, the
    ///   download restarts with ``RestartReason/contentChanged``.
    /// - Without a strong validator, the bytes can't be verified. The download then starts at its first byte with
    ///   ``RestartReason/noValidator``, and the temporary file stays where it is.
    /// - If at least as many bytes are already kept for `request`, the kept bytes are continued, and the temporary file
    ///   stays where it is.
    ///
    /// The temporary file is removed after the server has confirmed its bytes, provided that its name has the form that
    /// URLSession uses (`CFNetworkDownload_….tmp`). Any other file always stays where it is. If all bytes have been
    /// received already, the last one is fetched again so that the server confirms the others, unless the request has a
    /// checksum.
    ///
    /// Resume data doesn't contain the user whose credentials were sent when the bytes were received. If `request` has
    /// an ``DownloadRequest/account``, the bytes count as that account's; otherwise, a request with secret headers
    /// continues them only after a part of them has been fetched again and is equal.
    ///
    /// - Parameters:
    ///   - resumeData: The resume data from URLSession; no `URLSession` task may continue from it afterward.
    ///   - request: The request as which the download continues.
    ///   - directory: The directory of the temporary file; `nil` searches like ``ResumeData/temporaryFile(in:)``.
    ///   - responseDate: The Date of the response that contained the bytes. Resume data doesn't contain it. Without it,
    ///     a modification date isn't a strong validator (RFC 9110, 8.8.2.2); an entity tag doesn't need it.
    /// - Throws: ``DownloadError/Code/invalidRequest`` if `request` is invalid,
    ///   ``DownloadError/Code/resumeDataUnusable`` if the temporary file isn't what was recorded,
    ///   ``DownloadError/Code/partialInUse`` while `request` is being downloaded, ``DownloadError/Code/cancelled`` if
    ///   the task was canceled before the download was started, a storage error, or the error with which ``start(_:)``
    ///   refuses the request. The returned handle reports later errors.
    @discardableResult
    public func adopt(
        _ resumeData: ResumeData, as request: DownloadRequest, temporaryFileIn directory: URL? = nil,
        responseDate: Date? = nil
    ) async throws(DownloadError) -> Download {
        let date = responseDate.map { HTTPDate($0) }
        return try await adopt(as: request, from: resumeData.downloadURL) { disk throws(DownloadError) in
            try resumeData.importedFile(in: directory, responseDate: date, on: disk)
        }
    }

    /// Adopts an unfinished download of another process or machine and continues it as a file at `destination`.
    ///
    /// See ``adopt(_:as:partialFileIn:)`` for what happens to the bytes.
    @discardableResult
    public func adopt(
        _ token: ResumeToken, to destination: URL, partialFileIn directory: URL
    ) async throws(DownloadError) -> Download {
        var request = token.request(into: destination.deletingLastPathComponent())
        request.destination = .file(destination)
        return try await adopt(token, as: request, partialFileIn: directory)
    }

    /// Adopts an unfinished download of another process or machine and continues it as `request`.
    ///
    /// Use this method for a partial file that was moved to this machine or directory without its checkpoint. If all
    /// files are in their original places, call ``start(_:)`` with ``ResumeToken/request(into:)`` instead, which copies
    /// nothing.
    ///
    /// The token is trusted if the server confirms its validator; only a checksum can prove that the file contains the
    /// right bytes. The partial file is copied. It is removed only after the server's confirmation, and only if its
    /// name has the form that this package gives to partial files. Otherwise, this method behaves like
    /// ``adopt(_:as:temporaryFileIn:responseDate:)``.
    ///
    /// With a background session, which is experimental, the bytes are copied into the session, and the system fetches
    /// the rest with `Range` and `If-Range`. This requires a strong entity tag and a request without secret headers.
    /// The partial file then stays where it is.
    ///
    /// - Parameters:
    ///   - token: The token that the other side created with ``Download/resumeToken``.
    ///   - request: The request that the download continues as: ``ResumeToken/request(into:)``, with credentials where
    ///     they are needed.
    ///   - directory: The directory to which the path of the token's partial file is relative.
    /// - Throws: The errors of ``adopt(_:as:temporaryFileIn:responseDate:)``. The code is
    ///   ``DownloadError/Code/resumeDataUnusable`` if the partial file is missing, isn't a regular file of this user,
    ///   or is shorter than the token states, or if the bytes were received for another ``ResumeToken/account`` than
    ///   the request's.
    @discardableResult
    public func adopt(
        _ token: ResumeToken, as request: DownloadRequest, partialFileIn directory: URL
    ) async throws(DownloadError) -> Download {
        if let fault = token.accountFault(for: request) { throw .unusable(fault) }
        return try await adopt(as: request, from: token.url) { disk throws(DownloadError) in
            try token.importedFile(in: directory, on: disk)
        }
    }

    private func adopt(
        as request: DownloadRequest, from source: URL,
        open: @escaping @Sendable (any FileSystem) throws(DownloadError) -> ImportedFile
    ) async throws(DownloadError) -> Download {
        if let fault = request.validationError { throw fault }
        if Task.isCancelled { throw DownloadError(.cancelled, url: request.url) }
        if background != nil { return try await adoptInBackground(request, open) }
        let key = TransferKey(request)
        let isElsewhere = TransferKey(url: source, headers: [:]).url != key.url
        let (store, location) = (environment.store, environment.location(of: request, key))
        let imported: (unfinished: UnfinishedPartial, file: ImportedFile)
        do throws(DownloadError) {
            imported = try await environment.registry.performBlocking { () throws(DownloadError) in
                try store.importFile(at: location) { disk throws(DownloadError) in
                    var file = try open(disk)
                    if isElsewhere { file.representation.cameFromDifferentURL = true }
                    return file
                }
            }
        } catch {
            throw error.concerning(request.url)
        }
        // The imported bytes are there for a later request.
        if Task.isCancelled { throw DownloadError(.cancelled, url: request.url) }
        let download = startDownload(request, isRunning: false, continuing: imported.unfinished)
        if case .refused(let error) = download.source { throw error }
        if imported.unfinished.representation.isImported {
            download.foregroundTransfer?.activate().awaitConfirmation(of: imported.file)
        }
        download.resume()
        return download
    }
}
