public import struct Foundation.URL

extension Downloader {
    /// Returns the server's metadata of a resource without downloading it; see ``metadata(for:)-(DownloadRequest)``.
    public func metadata(for url: URL) async throws(DownloadError) -> ResourceMetadata {
        try await metadata(for: DownloadRequest(from: url, to: .memory))
    }

    /// Returns the server's metadata of the resource of `request` without downloading it.
    ///
    /// A HEAD request is sent (RFC 9110, 9.3.2). If the server refuses it with 403, 405, or 501, a GET request for the
    /// first byte follows, whose body isn't used. Redirects, headers, credentials, fresh URLs, retries, limits, and
    /// deadlines are handled as in a download of the request. The destination of the request, its checksum, and its
    /// conditions for the response and the length don't apply, and no file is touched. The request is sent from this
    /// process even if the downloader has a background session.
    ///
    /// The metadata may have changed by the time a download starts.
    ///
    /// - Throws: The error of the last request; its code is ``DownloadError/Code/cancelled`` if the task was canceled.
    public func metadata(for request: DownloadRequest) async throws(DownloadError) -> ResourceMetadata {
        do throws(DownloadError) {
            return try await metadata(for: request, by: .head)
        } catch let error where error.code == .httpStatus && [403, 405, 501].contains(error.statusCode) {
            return try await metadata(for: request, by: .firstByte)
        }
    }

    /// Requests the head with a download into memory whose own condition refuses the response.
    private func metadata(
        for request: DownloadRequest, by purpose: DownloadRequest.Purpose
    ) async throws(DownloadError) -> ResourceMetadata {
        if Task.isCancelled { throw DownloadError(.cancelled, url: request.url) }
        let download = startQuestion(request, purpose)
        do throws(DownloadError) {
            _ = try await download.file
        } catch {
            return try metadata(error)
        }
        preconditionFailure("a download whose response is refused has ended with a file")
    }

    // The next two functions hold the large variables and aren't inlined, because a task that waits keeps the memory of
    // its variables: 20 KB for each request otherwise.

    /// Starts the download that refuses its response.
    @inline(never)
    private func startQuestion(_ request: DownloadRequest, _ purpose: DownloadRequest.Purpose) -> Download {
        var question = request
        question.destination = .memory
        question.purpose = purpose
        // Concurrent metadata requests neither cancel nor reject each other.
        question.duplicatePolicy = .coalesce
        // The separate identity keeps the request from sharing a transfer or bytes with downloads of the resource.
        question.identity = "metadata \(purpose) \(request.identity ?? request.url.absoluteString)"
        (question.checksum, question.expectedByteCount, question.maximumByteCount) = (nil, nil, .max)
        question.acceptedMediaTypes = ["*/*"]
        question.validateResponse = { _ in throw HeadReceived() }
        return startInProcess(question)
    }

    /// Returns the metadata of the refused response.
    @inline(never)
    private func metadata(_ error: DownloadError) throws(DownloadError) -> ResourceMetadata {
        guard error.underlyingError is HeadReceived, let head = error.response else { throw error }
        return ResourceMetadata(
            head, at: environment.time.date, decodesContent: environment.transport.decodesContent)
    }

    /// The error by which the request refuses the response after its head has arrived.
    private struct HeadReceived: Error {}
}
