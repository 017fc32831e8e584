extension Downloader {
    /// Downloads all requests of a sequence, at most `limit` at a time, and delivers each result when it is available.
    ///
    /// - Parameters:
    ///   - requests: The requests, which are read one at a time. The ``DuplicatePolicy`` applies to duplicates.
    ///   - limit: The maximum number of downloads that wait, that are running, or whose outcome hasn't been delivered;
    ///     `nil` for twice as many as the downloader runs. The limits of the downloader apply as well.
    public func batch<Requests: Sequence<DownloadRequest>>(
        _ requests: Requests, limit: Int? = nil
    ) -> DownloadBatch<Requests> {
        DownloadBatch(downloader: self, requests: requests, limit: limit ?? defaultBatchLimit)
    }

    /// Downloads all requests of an asynchronous sequence, at most `limit` at a time, and delivers each result.
    ///
    /// - Parameters:
    ///   - requests: The requests, which are read one at a time. The ``DuplicatePolicy`` applies to duplicates.
    ///   - limit: The maximum number of downloads that wait, that are running, or whose outcome hasn't been delivered;
    ///     `nil` for twice as many as the downloader runs. The limits of the downloader apply as well.
    public func batch<Requests: AsyncSequence>(
        _ requests: Requests, limit: Int? = nil
    ) -> AsyncDownloadBatch<Requests>
    where Requests.Element == DownloadRequest, Requests.AsyncIterator: SendableMetatype {
        AsyncDownloadBatch(downloader: self, requests: requests, limit: limit ?? defaultBatchLimit)
    }

    /// Twice the number of transfers that may run: the number for a host adapts only while others wait.
    private var defaultBatchLimit: Int {
        let (limit, isTooLarge) = configuration.largestTransferCount.multipliedReportingOverflow(by: 2)
        return isTooLarge ? .max : limit
    }

    /// Downloads all requests, or fails as a whole.
    ///
    /// The first failure cancels the remaining downloads, and so does canceling the task. Received bytes are kept for
    /// later requests, and finished files stay in place.
    ///
    /// - Returns: The files, in the order of the requests.
    /// - Throws: The first ``DownloadError`` that occurs.
    public func downloadAll(_ requests: some Sequence<DownloadRequest>) async throws -> [DownloadedFile] {
        let requests = Array(requests)
        return try await withThrowingTaskGroup(of: (Int, DownloadedFile).self) { group in
            for (index, request) in requests.enumerated() {
                group.addTask { (index, try await self.download(request)) }
            }
            var files = [DownloadedFile?](repeating: nil, count: requests.count)
            for try await (index, file) in group { files[index] = file }
            return files.compactMap { $0 }
        }
    }
}
