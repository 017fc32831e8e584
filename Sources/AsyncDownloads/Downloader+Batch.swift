/// Batches of downloads.
extension Downloader {
    /// Downloads all requests of a sequence, at most `limit` at a time, and delivers each result when it is available.
    ///
    /// - Parameters:
    ///   - requests: The requests, which are read one at a time. The ``DuplicatePolicy`` applies to duplicates.
    ///   - limit: The maximum number of downloads that wait, that run, or whose outcome hasn't been delivered; `nil`
    ///     for twice the number of transfers that the downloader may run. A value below 1 counts as 1. The limits of
    ///     the downloader apply as well. Up to 10,000 additional downloads may wait for retries, or for hosts that don't
    ///     answer, can't be reached, or have asked for a delay.
    public func batch<Requests: Sequence<DownloadRequest>>(
        _ requests: Requests, limit: Int? = nil
    ) -> DownloadBatch<Requests> {
        DownloadBatch(downloader: self, requests: requests, limit: batchLimit(limit))
    }

    /// Downloads all requests of an asynchronous sequence, at most `limit` at a time, and delivers each result.
    ///
    /// - Parameters:
    ///   - requests: The requests, which are read one at a time. The ``DuplicatePolicy`` applies to duplicates.
    ///   - limit: The maximum number of downloads that wait, that run, or whose outcome hasn't been delivered; `nil`
    ///     for twice the number of transfers that the downloader may run. A value below 1 counts as 1. The limits of
    ///     the downloader apply as well. Up to 10,000 additional downloads may wait for retries, or for hosts that don't
    ///     answer, can't be reached, or have asked for a delay.
    public func batch<Requests: AsyncSequence>(
        _ requests: Requests, limit: Int? = nil
    ) -> AsyncDownloadBatch<Requests>
    where Requests.Element == DownloadRequest, Requests.AsyncIterator: SendableMetatype {
        AsyncDownloadBatch(downloader: self, requests: requests, limit: batchLimit(limit))
    }

    /// Downloads all requests, at most `limit` at a time, or fails as a whole.
    ///
    /// The downloads are child tasks of the calling task. The first failure cancels the remaining downloads, and so
    /// does canceling the task. Then no other download starts, and this method returns when all of them have ended.
    /// Received bytes are kept for later requests, and finished files stay in place.
    ///
    /// - Parameters:
    ///   - requests: The requests; each one is read when its download can start. The ``DuplicatePolicy`` applies to
    ///     duplicates.
    ///   - limit: The maximum number of downloads that wait or run; `nil` for twice the number of transfers that the
    ///     downloader may run. A value below 1 counts as 1. The limits of the downloader apply as well. If the
    ///     limit isn't 1, up to 10,000 additional downloads may wait for retries, or for hosts that don't answer, can't be
    ///     reached, or have asked for a delay.
    /// - Returns: The files, in the order of the requests.
    /// - Throws: The first ``DownloadError`` that occurs. Its code is ``DownloadError/Code/cancelled`` if the task was
    ///   canceled.
    public func downloadAll(
        _ requests: some Sequence<DownloadRequest>, limit: Int? = nil
    ) async throws(DownloadError) -> [DownloadedFile] {
        do {
            return try await withThrowingTaskGroup(of: (index: Int, file: DownloadedFile).self) { group in
                var requests = requests.makeIterator()
                var files: [DownloadedFile?] = []
                let room = BatchRoom(self, limit: batchLimit(limit))
                defer { room.close() }
                while await room.wait(), !Task.isCancelled, let request = requests.next() {
                    let index = files.count
                    files.append(nil)
                    let (number, download) = room.start(request)
                    group.addTask { try await room.run(number) { (index, try await download.file) } }
                    // The group keeps the results of the tasks that have ended.
                    while room.takeEnded(), let (index, file) = try await group.next() { files[index] = file }
                }
                while let (index, file) = try await group.next() { files[index] = file }
                // Without this check, a canceled task could end with the files of the first requests only.
                if Task.isCancelled { throw DownloadError(.cancelled) }
                return files.compactMap { $0 }
            }
        } catch let error as DownloadError {
            throw error
        } catch {
            preconditionFailure("a download failed with \(type(of: error))")
        }
    }

    /// Downloads all requests of a sequence, at most `limit` at a time, and calls `body` with the outcome of each one.
    ///
    /// ```swift
    /// try await downloader.downloadEach(requests, limit: 8) { outcome in
    ///     try await library.add(outcome.result.get())
    /// }
    /// ```
    ///
    /// Each request is carried out by a child task of the calling task, which downloads the file and then calls `body`.
    /// The failure of a download doesn't affect the others: it is delivered in its outcome. The first error that `body`
    /// throws cancels the remaining downloads, and so does canceling the calling task. Then no other download starts,
    /// outcomes that haven't been delivered are dropped, and received bytes are kept for later requests. In each case,
    /// this method returns when all child tasks, and thus all calls of `body`, have ended.
    ///
    /// On systems before iOS 17 and macOS 14, which lack discarding task groups, iterate over a ``DownloadBatch``.
    ///
    /// - Parameters:
    ///   - requests: The requests; each one is read when its download can start. The ``DuplicatePolicy`` applies to
    ///     duplicates.
    ///   - limit: The maximum number of downloads that wait or run, or whose call of `body` hasn't returned; `nil` for
    ///     twice the number of transfers that the downloader may run. A value below 1 counts as 1. The limits of the
    ///     downloader apply as well. If the limit isn't 1, up to 10,000 additional downloads may wait for retries, or for
    ///     hosts that don't answer, can't be reached, or have asked for a delay.
    ///   - body: A closure that is called once for each request, when its download has ended. It runs in the child task
    ///     of the download, on no particular actor, and concurrently with at most `limit - 1` other calls. Mark a
    ///     closure that changes a user interface with `@MainActor`. If the limit is 1, the calls are made one after
    ///     another, in the order of the requests.
    /// - Throws: The first error that `body` throws, or a ``DownloadError`` with the code
    ///   ``DownloadError/Code/cancelled`` if the task is canceled. A canceled call never returns normally.
    @available(macOS 14, iOS 17, tvOS 17, watchOS 10, *)
    public func downloadEach(
        _ requests: some Sequence<DownloadRequest>, limit: Int? = nil,
        body: @escaping @Sendable (_ outcome: BatchOutcome) async throws -> Void
    ) async throws {
        try await withThrowingDiscardingTaskGroup { group in
            var requests = requests.makeIterator()
            await addDownloads(to: &group, limit: limit, body) { requests.next() }
        }
        // Without this check, a call whose last download ended before the cancellation could seem to be complete.
        if Task.isCancelled { throw DownloadError(.cancelled) }
    }

    /// Downloads all requests of an asynchronous sequence, at most `limit` at a time, and calls `body` with the outcome
    /// of each one.
    ///
    /// An error that the sequence of requests throws has the same effect as an error of `body`. Otherwise, this method
    /// behaves like the one that takes a sequence.
    ///
    /// - Parameters:
    ///   - requests: The requests; a child task of the calling task reads each one when its download can start. The
    ///     ``DuplicatePolicy`` applies to duplicates.
    ///   - limit: The maximum number of downloads that wait or run, or whose call of `body` hasn't returned; `nil` for
    ///     twice the number of transfers that the downloader may run. A value below 1 counts as 1. The limits of the
    ///     downloader apply as well. If the limit isn't 1, up to 10,000 additional downloads may wait for retries, or for
    ///     hosts that don't answer, can't be reached, or have asked for a delay.
    ///   - body: A closure that is called once for each request, when its download has ended, concurrently with at most
    ///     `limit - 1` other calls.
    /// - Throws: The first error that `body` or the sequence of requests throws, or a ``DownloadError`` with the code
    ///   ``DownloadError/Code/cancelled`` if the task is canceled. A canceled call never returns normally.
    @available(macOS 14, iOS 17, tvOS 17, watchOS 10, *)
    public func downloadEach<Requests: AsyncSequence & Sendable>(
        _ requests: Requests, limit: Int? = nil,
        body: @escaping @Sendable (_ outcome: BatchOutcome) async throws -> Void
    ) async throws where Requests.Element == DownloadRequest, Requests.AsyncIterator: SendableMetatype {
        try await withThrowingDiscardingTaskGroup { group in
            let (demands, demand) = AsyncStream.makeStream(of: Void.self)
            let (answers, answer) = AsyncStream.makeStream(of: DownloadRequest.self)
            // A child task reads the requests, because the failure of another child task cancels it but not this task.
            group.addTask {
                defer { answer.finish() }
                var requests = requests.makeAsyncIterator()
                for await _ in demands {
                    guard let request = try await requests.next() else { return }
                    answer.yield(request)
                }
            }
            await addDownloads(to: &group, limit: limit, body) {
                demand.yield()
                return await answers.first { _ in true }
            }
        }
        if Task.isCancelled { throw DownloadError(.cancelled) }
    }

    /// Adds a child task for each request to a group, and waits while the limit is reached.
    ///
    /// - Parameter next: Returns the next request; nil after the last one or when the group is canceled.
    @available(macOS 14, iOS 17, tvOS 17, watchOS 10, *)
    private func addDownloads(
        to group: inout ThrowingDiscardingTaskGroup<any Error>, limit: Int?,
        _ body: @escaping @Sendable (BatchOutcome) async throws -> Void, next: () async -> DownloadRequest?
    ) async {
        let room = BatchRoom(self, limit: batchLimit(limit))
        defer { room.close() }
        var startedCount = 0
        // `wait()` returns false after a failure or a cancellation.
        while await room.wait() {
            guard !group.isCancelled, let request = await next(), !group.isCancelled else { return }
            let index = startedCount
            startedCount += 1
            let (number, download) = room.start(request)
            group.addTask {
                try await room.run(number) {
                    let result = await download.result
                    if Task.isCancelled { throw DownloadError(.cancelled) }
                    try await room.runBody {
                        try await body(BatchOutcome(index: index, request: request, result: result))
                    }
                }
            }
        }
    }

    /// Whether another download could run at once, because a permit is free that no waiting download can use now.
    package var hasFreePermit: Bool { environment.scheduler.hasFreePermit }

    /// Calls `body`, on any thread, while ``hasFreePermit`` is true, after each change of the waiting and running downloads.
    package func observeFreePermits(_ body: @escaping @Sendable () -> Void) {
        _ = environment.scheduler.observeFreePermits(body)
    }

    /// The number of downloads that are waiting for a permit for any reason, or for a response of a silent origin.
    package var waitingCount: Int { environment.scheduler.waitingCount }

    /// The number of downloads that are waiting because their hosts don't answer, are unreachable, or ask for a delay,
    /// including those that have sent a request.
    package var heldUpCount: Int { environment.scheduler.heldUp.count }

    /// Returns the limit of a batch: at least one; by default, twice the number of transfers that may run.
    ///
    /// The default exceeds that number because the adaptive limit of a host grows only while transfers wait.
    private func batchLimit(_ limit: Int?) -> Int {
        if let limit { return max(1, limit) }
        let (twice, isTooLarge) = configuration.largestTransferCount.multipliedReportingOverflow(by: 2)
        return isTooLarge ? .max : twice
    }
}

extension Download {
    /// The file, or the error that ended the download; waits for it if necessary.
    var result: Result<DownloadedFile, DownloadError> {
        get async {
            do throws(DownloadError) {
                return .success(try await file)
            } catch {
                return .failure(error)
            }
        }
    }
}
