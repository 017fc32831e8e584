/// The results of many downloads, each as soon as it is there.
///
/// ```swift
/// for try await outcome in downloader.batch(requests, limit: 8) {
///     print(outcome.request.url, outcome.result)
/// }
/// ```
///
/// The downloads begin with the first iteration, in the order of the requests; results come in the order in which they
/// are there. One failure does not stop the rest. Leaving the loop, or cancelling its task, leaves the downloads that
/// are not finished; their bytes are kept. A cancelled loop throws, so that it cannot be taken for a complete one.
public struct DownloadBatch: AsyncSequence, Sendable {
    /// How one download of a batch ended.
    public struct Outcome: Sendable {
        /// The request's place in the batch.
        public let index: Int
        /// The request.
        public let request: DownloadRequest
        /// The file, or why it is not there.
        public let result: Result<DownloadedFile, DownloadError>
    }

    let downloader: Downloader
    let requests: [DownloadRequest]
    let limit: Int

    /// Starts the downloads.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(self)
    }

    /// Delivers the outcomes.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private var outcomes: AsyncStream<Outcome>.AsyncIterator

        init(_ batch: DownloadBatch) {
            // The task group that bounds the work needs a task that outlives single calls of `next`.
            let (stream, continuation) = AsyncStream.makeStream(of: Outcome.self)
            let task = Task {
                await batch.run { continuation.yield($0) }
                continuation.finish()
            }
            continuation.onTermination = { _ in task.cancel() }
            outcomes = stream.makeAsyncIterator()
        }

        /// The next outcome; nil when all are there.
        ///
        /// - Throws: ``DownloadError/Code/cancelled`` when the task is cancelled. How a download ends is no error here.
        public mutating func next() async throws -> Outcome? {
            if let outcome = await outcomes.next() { return outcome }
            if Task.isCancelled { throw DownloadError(.cancelled) }
            return nil
        }
    }

    /// Runs at most `limit` downloads at a time and reports each.
    func run(_ report: @escaping @Sendable (Outcome) -> Void) async {
        await withTaskGroup(of: Void.self) { group in
            for (index, request) in requests.enumerated() {
                if index >= Swift.max(1, limit) { await group.next() }
                group.addTask {
                    let result = await downloader.result(of: request)
                    report(Outcome(index: index, request: request, result: result))
                }
            }
        }
    }
}

extension Downloader {
    /// Downloads all of `requests`, at most `limit` at a time, and delivers each result as it comes.
    ///
    /// - Parameters:
    ///   - requests: What to download; duplicates are treated by the ``DuplicatePolicy``.
    ///   - limit: How many are asked for at a time. The downloader's own limits hold as well.
    public func batch(_ requests: some Sequence<DownloadRequest>, limit: Int = 6) -> DownloadBatch {
        DownloadBatch(downloader: self, requests: Array(requests), limit: limit)
    }

    /// Downloads all of `requests` or fails as a whole.
    ///
    /// Structured: the first failure cancels the rest, and so does cancelling the task; whatever was received is kept
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

    func result(of request: DownloadRequest) async -> Result<DownloadedFile, DownloadError> {
        do throws(DownloadError) {
            return .success(try await download(request))
        } catch {
            return .failure(error)
        }
    }
}
