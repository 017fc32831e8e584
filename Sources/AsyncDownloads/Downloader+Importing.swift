public import Foundation

/// Taking over bytes that something else has received.
extension Downloader {
    /// Goes on with a download that URLSession has left, as a file at `destination`.
    ///
    /// ```swift
    /// let resumeData = try ResumeData(await task.cancelByProducingResumeData() ?? Data())
    /// let download = try await downloader.adopt(resumeData, to: destination)
    /// let file = try await download.file
    /// ```
    ///
    /// See ``adopt(_:as:temporaryFileIn:responseDate:)`` for what becomes of the bytes.
    @discardableResult
    public func adopt(
        _ resumeData: ResumeData, to destination: URL, temporaryFileIn directory: URL? = nil,
        responseDate: Date? = nil
    ) async throws(DownloadError) -> Download {
        try await adopt(
            resumeData, as: DownloadRequest(from: resumeData.downloadURL, to: destination),
            temporaryFileIn: directory, responseDate: responseDate)
    }

    /// Goes on with a download that URLSession has left, as `request`, whose URL may be another one.
    ///
    /// The temporary file's bytes are cloned or copied to where those of `request` are kept. Then the download runs like one
    /// of ``start(_:)``. Three things are left to the server's answer or to what is there:
    ///
    /// - The bytes are used when the server still has the object by its strong validator. Under another URL than
    ///   ``ResumeData/downloadURL`` it has to say so itself. Otherwise the download begins again, with
    ///   ``RestartReason/contentChanged``.
    /// - Without a strong validator nothing could prove the bytes. Then the download begins at its first byte, with
    ///   ``RestartReason/noValidator``, and the temporary file stays where it is.
    /// - Where as many bytes, or more, are kept for `request` already, these are continued, and the temporary file stays
    ///   where it is.
    ///
    /// The temporary file is removed when the server has confirmed its bytes, provided that its name is one that URLSession
    /// gives (`CFNetworkDownload_….tmp`). Any other file stays where it is in every case. Where all bytes are there
    /// already, the last one is fetched again for the server to confirm the others, unless the request has a checksum.
    ///
    /// - Parameters:
    ///   - resumeData: What URLSession produced; no task may go on with it any more.
    ///   - request: What to go on as.
    ///   - directory: Where the temporary file is; nil looks as ``ResumeData/temporaryFile(in:)`` does.
    ///   - responseDate: The Date of the response that the bytes came with. Resume data does not have it, and a
    ///     modification date proves nothing without it (RFC 9110, 8.8.2.2); an entity tag needs none.
    /// - Throws: ``DownloadError/Code/invalidRequest``; ``DownloadError/Code/resumeDataUnusable`` where the temporary file
    ///   is not what was recorded; ``DownloadError/Code/partialInUse`` while `request` is being downloaded; or a disk
    ///   error. What happens later is told by the handle.
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

    /// Goes on with a download that another process, or another machine, has left, as a file at `destination`.
    ///
    /// See ``adopt(_:as:partialFileIn:)``.
    @discardableResult
    public func adopt(
        _ token: ResumeToken, to destination: URL, partialFileIn directory: URL
    ) async throws(DownloadError) -> Download {
        var request = token.request(into: destination.deletingLastPathComponent())
        request.destination = .file(destination)
        return try await adopt(token, as: request, partialFileIn: directory)
    }

    /// Goes on with a download that another process, or another machine, has left, as `request`.
    ///
    /// This is for a partial file that was brought here without its checkpoint. Where all files are in their places,
    /// ``start(_:)`` with ``ResumeToken/request(into:)`` needs no copy.
    ///
    /// The token is believed as far as the server confirms its validator; nothing but a checksum could tell that the
    /// file's bytes are the right ones. The partial file is copied, and removed only after the server's confirmation and
    /// only if its name is one that this package gives to partial files. All else is as in
    /// ``adopt(_:as:temporaryFileIn:responseDate:)``.
    ///
    /// - Parameters:
    ///   - token: What the other side made with ``Download/resumeToken``.
    ///   - request: What to go on as: ``ResumeToken/request(into:)``, with credentials where they are needed.
    ///   - directory: The directory that the token's partial file is relative to.
    /// - Throws: As the other does; ``DownloadError/Code/resumeDataUnusable`` where the partial file is missing, is no
    ///   ordinary file of this user's, or is shorter than the token says, and where the bytes were received for another
    ///   ``ResumeToken/account`` than the request's.
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
        let key = TransferKey(request)
        let isElsewhere = TransferKey(url: source, headers: [:]).url != key.url
        let (store, location) = (environment.store, self.location(of: request, key))
        let result: Result<(unfinished: UnfinishedPartial, file: ImportedFile), DownloadError> =
            await withCheckedContinuation {
                continuation in
                DispatchQueue.global().async {
                    let result = Result { () throws(DownloadError) in
                        try store.importFile(at: location) { disk throws(DownloadError) in
                            var file = try open(disk)
                            if isElsewhere { file.representation.cameFromDifferentURL = true }
                            return file
                        }
                    }
                    continuation.resume(returning: result)
                }
            }
        let (unfinished, file) = try result.concerning(request.url).get()
        let download = startDownload(request, isRunning: false, continuing: unfinished)
        if unfinished.representation.isImported, case .transfer(let transfer, _) = download.source {
            transfer.awaitConfirmation(of: file)
        }
        download.resume()
        return download
    }
}

extension HTTPDate {
    /// The second that `date` is in; the epoch where it is no date at all.
    fileprivate init(_ date: Date) {
        self.init(secondsSinceEpoch: Int64(exactly: date.timeIntervalSince1970.rounded(.down)) ?? 0)
    }
}
