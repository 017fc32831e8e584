/// The consequences of the end of a task.
extension BackgroundCore {
    /// Reports that a task has stopped as intended, and hands it over again if it was resumed in the meantime.
    ///
    /// - Parameter pausesHandles: Whether the system has stopped the task, so that the handles are not paused yet.
    mutating func stopped(
        _ id: Int, removing files: some Sequence<String>, pausesHandles: Bool = false
    ) -> [Action] {
        progress[id] = nil
        var actions = removal(of: files)
        guard let record = journal[id] else { return actions }
        if record.deliveries.isEmpty, !record.hasUsefulBytes {
            journal.remove(id)
        } else if record.isPaused {
            let received = record.receivedByteCount
            actions.append(
                .emit(record: id, pausesHandles ? .stopped(received: received) : .paused(received: received)))
        }
        return actions + handOver()
    }

    /// Starts a download from its first byte, once; afterward it fails with `error`.
    mutating func startAnew(
        _ id: Int, _ reason: RestartReason, otherwise error: DownloadError, removing files: some Sequence<String>
    ) -> [Action] {
        guard let record = journal[id], record.freshStartCount == 0 else {
            return fail(id, error, resumeData: nil, removing: files)
        }
        let discarded = max(record.receivedByteCount, progress[id]?.received ?? 0)
        progress[id] = nil
        let files = Array(files) + [record.base?.fileName].compactMap { $0 }
        let now = date.secondsSinceEpoch
        journal.update(id) { record in
            record.base = nil
            record.freshStartCount += 1
            record.stage = .idle(resumeData: nil)
            record.receivedByteCount = 0
            record.wait(for: .zero, from: now)
        }
        return removal(of: files) + [.emit(record: id, .restarted(reason, discarded: discarded))] + handOver()
    }

    /// Repeats an attempt if the error may be temporary and the policy permits another attempt.
    mutating func retryOrFail(
        _ id: Int, _ error: DownloadError, resumeData: String?, removing files: some Sequence<String>
    ) -> [Action] {
        guard var record = journal[id] else { return removal(of: files) }
        // Bytes that are not kept, such as the bytes of an error page, do not count as progress.
        if record.keep(resumeData, received: progress[id]?.received ?? 0) { refreshed.remove(id) }
        let policy = RetryPolicy(maximumRetries: record.resource.maximumRetryCount)
        guard !record.openDeliveries.isEmpty,
            let attempt = record.retries.nextAttempt(
                after: error, policy: policy, received: record.receivedByteCount, limit: record.failureLimit)
        else { return fail(id, error, resumeData: resumeData, removing: files) }
        progress[id] = nil
        // The system waits, so that no timer of the app is needed.
        let delay = record.wait(for: attempt.delay, from: date.secondsSinceEpoch)
        let changed = record
        journal.update(id) { $0 = changed }
        let event = Event.retrying(attempt: attempt.number, delay: delay, error)
        return removal(of: files) + [.emit(record: id, event)] + handOver()
    }

    /// Ends the open deliveries with an error, and keeps the resume data for the next request.
    mutating func fail(
        _ id: Int, _ error: DownloadError, resumeData: String?, removing files: some Sequence<String>
    ) -> [Action] {
        let open = journal[id]?.openDeliveries.map(\.id) ?? []
        let received = progress[id]?.received ?? 0
        progress[id] = nil
        let outcome = BackgroundDelivery.Outcome.failed(RecordedError(error))
        journal.update(id) { record in
            record.keep(resumeData, received: received)
            record.isPaused = true
            for index in record.deliveries.indices where record.deliveries[index].outcome == nil {
                record.deliveries[index].outcome = outcome
            }
        }
        if let record = journal[id], record.deliveries.isEmpty, !record.hasUsefulBytes { journal.remove(id) }
        return removal(of: files) + open.map { .end(record: id, delivery: $0, outcome) } + handOver()
    }
}

extension BackgroundRecord {
    /// The number of failures in total, since a caller asked for the file, after which no attempt follows.
    var failureLimit: Int { 10 * max(1, min(resource.maximumRetryCount, 100)) }

    /// Delays the next task, by a second at least, and returns the delay; the system counts in whole seconds.
    @discardableResult
    mutating func wait(for delay: Duration, from now: Int64) -> Duration {
        let (seconds, fraction) = delay.components
        let count = max(1, fraction > 0 ? seconds + 1 : seconds)
        notBefore = now + count
        return .seconds(count)
    }

    /// Records that no task is with the system, and keeps the resume data, if any, for the next task.
    ///
    /// - Returns: Whether the record has more bytes than ever.
    @discardableResult
    mutating func keep(_ resumeData: String?, received: Int64) -> Bool {
        if case .handedOver(let task) = stage, resumeData != nil {
            (resumeURL, resumeNetworks) = (task.url ?? resource.url, task.networks)
        }
        if resumeData == nil { (resumeURL, resumeNetworks) = (nil, nil) }
        stage = .idle(resumeData: resumeData)
        receivedByteCount = resumeData == nil ? base?.byteCount ?? 0 : max(receivedByteCount, received)
        return retries.kept(receivedByteCount)
    }
}
