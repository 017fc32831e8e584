extension Downloader {
    /// Downloads all of `requests`, at most `limit` at a time, and delivers each result as it comes.
    ///
    /// - Parameters:
    ///   - requests: What to download, taken one by one; duplicates are treated by the ``DuplicatePolicy``.
    ///   - limit: How many may run, or wait for their outcome to be taken. The downloader's own limits hold as well.
    public func batch<Requests: Sequence<DownloadRequest>>(
        _ requests: Requests, limit: Int = 6
    ) -> DownloadBatch<Requests> {
        DownloadBatch(downloader: self, requests: requests, limit: limit)
    }

    /// Downloads all of `requests`, which come asynchronously, at most `limit` at a time, and delivers each result as it
    /// comes.
    ///
    /// - Parameters:
    ///   - requests: What to download, taken one by one; duplicates are treated by the ``DuplicatePolicy``.
    ///   - limit: How many may run, or wait for their outcome to be taken. The downloader's own limits hold as well.
    public func batch<Requests: AsyncSequence>(
        _ requests: Requests, limit: Int = 6
    ) -> AsyncDownloadBatch<Requests>
    where Requests.Element == DownloadRequest, Requests.AsyncIterator: SendableMetatype {
        AsyncDownloadBatch(downloader: self, requests: requests, limit: limit)
    }

    /// Downloads all of `requests` or fails as a whole.
    ///
    /// Structured: the first failure cancels the rest, and so does canceling the task; whatever was received is kept
    /// for the next time, and the files that are finished stay.
    ///
    /// - Returns: The files in the order of the requests.
    /// - Throws: The first ``DownloadError`` to occur.
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
