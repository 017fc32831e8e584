/// Other URLs of a resource, for a task whose URL a server has refused.
extension BackgroundCore {
    /// The statuses after which another URL may help.
    private static let refusals: Set<Int> = [401, 403, 410]

    /// Starts a task with another URL if there is one, or asks a handle for it; nil if `error` is final.
    ///
    /// The service continues with the URL that is in its resume data, so the next task starts at the first byte.
    mutating func useAnotherURL(
        _ record: BackgroundRecord, _ task: BackgroundRecord.HandOver, after error: DownloadError,
        removing files: [String]
    ) -> [Action]? {
        guard let status = error.statusCode, Self.refusals.contains(status), !record.openDeliveries.isEmpty else {
            return nil
        }
        let id = record.id
        let refused = task.url ?? record.resource.url
        let hasAnother = record.nextURL != refused
        guard hasAnother || refreshable.contains(id) && !refreshed.contains(id) else { return nil }
        var retries = record.retries
        guard retries.countFailure(limit: record.failureLimit) else { return nil }
        let discarded = max(record.receivedByteCount, progress[id]?.received ?? 0)
        progress[id] = nil
        let now = date.secondsSinceEpoch
        journal.update(id) { record in
            record.retries = retries
            record.keep(nil, received: 0)
            record.wait(for: .zero, from: now)
        }
        var actions = removal(of: files)
        if discarded > 0, task.resumeData != nil {
            actions.append(.emit(record: id, .restarted(.noValidator, discarded: discarded)))
        }
        if hasAnother { return actions + handOver() }
        guard let url = URLText(refused)?.url else { return nil }
        refreshed.insert(id)
        awaitingURL.insert(id)
        let context = URLRefresh.Context(url: url, reason: .status(status), receivedByteCount: 0)
        return actions + [.emit(record: id, .waiting), .refreshURL(record: id, context, error)]
    }

    /// Processes the answer of a handle that was asked for a fresh URL.
    ///
    /// A failure counts as a failed attempt. Without a handle that could answer, the server's error is the outcome.
    mutating func urlRefreshed(_ id: Int, _ result: Result<String, DownloadError>) -> [Action] {
        guard awaitingURL.remove(id) != nil, let record = journal[id], case .idle = record.stage else { return [] }
        switch result {
        case .success(let url):
            journal.update(id) { $0.freshURL = url }
            return handOver()
        case .failure(let error):
            // The next attempt finds the URL refused, and asks again.
            if error.isRetryable { refreshed.remove(id) }
            return retryOrFail(id, error, resumeData: nil, removing: [])
        }
    }
}
