/// The inputs from the system's transfer service.
extension BackgroundCore {
    /// Processes an event, which must have passed the gate.
    package mutating func handle(_ event: DaemonEvent) -> [Action] {
        switch event {
        case .progressed(let name, let received, let expected): progressed(name, received, expected)
        case .finished(let name, let body): finished(name, body)
        case .failed(let name, let reason, let resumeData): failed(name, reason, resumeData)
        case .ended(let name): ended(name)
        case .allDelivered: []
        }
    }

    private mutating func progressed(_ name: DaemonTaskName, _ received: Int64, _ expected: Int64?) -> [Action] {
        guard let record = journal.record(for: name), record.isHandedOver else { return [] }
        confirm(record.id)
        progress[record.id] = (received, expected)
        return record.isPaused ? [] : [.emit(record: record.id, .running(received: received, expected: expected))]
    }

    private mutating func confirm(_ id: Int) {
        journal.update(id) { record in
            guard case .handedOver(var handOver) = record.stage, !handOver.isConfirmed else { return }
            handOver.isConfirmed = true
            record.stage = .handedOver(handOver)
        }
    }

    private mutating func finished(_ name: DaemonTaskName, _ body: Spool.Body) -> [Action] {
        cancelled.remove(name)
        guard let record = journal.record(for: name), case .handedOver(let task) = record.stage else {
            // A repeated event of the attempt that was recorded already must not remove the file.
            if case .received(let received)? = journal[name.record]?.stage, received.fileName == body.fileName {
                return []
            }
            return [.removeFiles([body.fileName])]
        }
        let review = FinishedTaskReview(
            requestedURL: record.resource.url, wasResumed: task.resumeData != nil,
            hasChecksum: record.openDeliveries.allSatisfy { $0.checksum != nil } && !record.openDeliveries.isEmpty,
            policy: journal.current.options.finalURLPolicy, date: date)
        let old = Array(record.fileNames)
        switch review.verdict(on: body) {
        case .whole(let info):
            journal.update(record.id) { record in
                record.stage = .received(.init(fileName: body.fileName, inode: body.inode, info: info))
                record.receivedByteCount = info.byteCount
                record.isPaused = false
            }
            progress[record.id] = nil
            let place: [Action] =
                record.openDeliveries.isEmpty ? [] : [.emit(record: record.id, .verifying), .place(record: record.id)]
            return [.removeFiles(old)] + place + handOver()
        case .restart(let reason):
            return startAnew(
                record.id, reason, otherwise: DownloadError(.malformedResponse, "the resumed file is not complete"),
                removing: old + [body.fileName])
        case .failed(let error):
            return retryOrFail(record.id, error, resumeData: nil, removing: old + [body.fileName])
        }
    }

    private mutating func ended(_ name: DaemonTaskName) -> [Action] {
        guard let record = journal.record(for: name), record.isHandedOver else { return [] }
        // The file would have arrived before; its callback is lost if the process ended between the two.
        return failed(name, .fileMissing, nil)
    }

    private mutating func failed(
        _ name: DaemonTaskName, _ reason: DaemonFailure.Reason, _ resumeData: String?
    ) -> [Action] {
        let wasCancelled = cancelled.remove(name) != nil
        guard let record = journal.record(for: name), case .handedOver(let task) = record.stage else {
            return resumeData.map { [.removeFiles([$0])] } ?? []
        }
        let old = record.fileNames.subtracting([resumeData].compactMap { $0 })
        let received = progress[record.id]?.received ?? 0
        let hasProgress = received > record.receivedByteCount
        func idle(_ record: inout BackgroundRecord) {
            record.stage = .idle(resumeData: resumeData)
            record.receivedByteCount = resumeData == nil ? 0 : max(record.receivedByteCount, received)
            if hasProgress { record.retryCount = 0 }
        }
        switch reason {
        case .cancelled where wasCancelled || record.isPaused, .interrupted:
            journal.update(record.id, idle)
            return stopped(record.id, removing: old)
        case .userForceQuit:
            let pauses = journal.current.options.forceQuitPolicy == .pause
            journal.update(record.id) { record in
                idle(&record)
                if pauses { record.isPaused = true }
            }
            return stopped(record.id, removing: old)
        case .backgroundUpdatesDisabled:
            return fail(
                record.id, DownloadError(.backgroundNotPermitted, "background app refresh is turned off"),
                resumeData: resumeData, removing: old)
        case .insufficientResources:
            return retryOrFail(
                record.id, DownloadError(.systemResourcesExhausted), resumeData: resumeData, removing: old)
        case .fileMissing:
            return startAnew(
                record.id, .partialMissing, otherwise: DownloadError(.taskLost, "the finished file does not exist"),
                removing: old.union([resumeData].compactMap { $0 }))
        case .cancelled:
            return retryOrFail(
                record.id, DownloadError(.connectionLost, "the system canceled the task"), resumeData: resumeData,
                removing: old)
        case .transfer(let error):
            // Resume data that cannot be used fails at once, not because of the network, and leaves none behind.
            let mayBeUnusable = !error.isRetryable || resumeData == nil && record.freshStartCount == 0
            if task.resumeData != nil, !hasProgress, mayBeUnusable {
                return startAnew(
                    record.id, .partialMissing,
                    otherwise: DownloadError(.resumeDataUnusable, error.detail, underlyingError: error),
                    removing: old.union([resumeData].compactMap { $0 }))
            }
            return retryOrFail(record.id, error, resumeData: resumeData, removing: old)
        }
    }

    /// Processes the verdict that a task is lost, or that it is running.
    package mutating func adopt(_ plan: RelaunchPlan) -> [Action] {
        var actions: [Action] = []
        for (id, verdict) in plan.verdicts.sorted(by: { $0.key < $1.key }) {
            switch verdict {
            case .running(let received, let expected):
                confirm(id)
                progress[id] = (received, expected)
                guard let record = journal[id] else { continue }
                if record.isPaused {
                    // The earlier process ended before it could cancel the task.
                    actions += cancelAgain(record)
                } else {
                    actions.append(.emit(record: id, .running(received: received, expected: expected)))
                }
            case .lost:
                actions += lost(id)
            case .finishedMeanwhile:
                if case .received? = journal[id]?.stage, journal[id]?.openDeliveries.isEmpty == false {
                    actions.append(.place(record: id))
                }
            case .failed, .undecided, .idle: break
            }
        }
        for task in plan.stale { actions.append(.cancel(task.name, generation: task.generation)) }
        return actions + handOver()
    }

    private mutating func cancelAgain(_ record: BackgroundRecord) -> [Action] {
        let name = journal.taskName(of: record)
        cancelled.insert(name)
        return [.cancel(name, generation: record.generation)]
    }

    /// Processes that a task of the current attempt does not exist, and that no event about it can arrive.
    package mutating func lost(_ id: Int) -> [Action] {
        guard let record = journal[id], case .handedOver(let task) = record.stage else { return [] }
        cancelled.remove(journal.taskName(of: record))
        progress[id] = nil
        if record.isPaused {
            // The event that carried the resume data was lost with a process.
            journal.update(id) { record in
                record.stage = .idle(resumeData: nil)
                record.receivedByteCount = 0
            }
            return stopped(id, removing: record.fileNames)
        }
        guard task.isConfirmed else {
            // The process ended before the system had the task, so nothing was lost.
            journal.update(id) { $0.stage = .idle(resumeData: task.resumeData) }
            return handOver()
        }
        return startAnew(
            id, .partialMissing, otherwise: DownloadError(.taskLost, "the system has lost the task"),
            removing: record.fileNames)
    }

    /// Reports that a task has stopped as intended, and hands it over again if it was resumed in the meantime.
    private mutating func stopped(_ id: Int, removing files: some Sequence<String>) -> [Action] {
        progress[id] = nil
        var actions: [Action] = [.removeFiles(Array(files))]
        guard let record = journal[id] else { return actions }
        if record.deliveries.isEmpty, !record.hasUsefulBytes {
            journal.remove(id)
        } else if record.isPaused {
            actions.append(.emit(record: id, .paused(received: record.receivedByteCount)))
        }
        return actions + handOver()
    }

    /// Starts a download from its first byte, once; afterwards it fails with `error`.
    private mutating func startAnew(
        _ id: Int, _ reason: RestartReason, otherwise error: DownloadError, removing files: some Sequence<String>
    ) -> [Action] {
        guard let record = journal[id], record.freshStartCount == 0 else {
            return fail(id, error, resumeData: nil, removing: files)
        }
        let discarded = max(record.receivedByteCount, progress[id]?.received ?? 0)
        progress[id] = nil
        journal.update(id) { record in
            record.freshStartCount += 1
            record.stage = .idle(resumeData: nil)
            record.receivedByteCount = 0
        }
        return [.removeFiles(Array(files)), .emit(record: id, .restarted(reason, discarded: discarded))] + handOver()
    }

    /// Repeats an attempt if the error may be temporary and the policy permits another attempt.
    private mutating func retryOrFail(
        _ id: Int, _ error: DownloadError, resumeData: String?, removing files: some Sequence<String>
    ) -> [Action] {
        guard let record = journal[id] else { return [.removeFiles(Array(files))] }
        let received = progress[id]?.received ?? 0
        let retries = received > record.receivedByteCount ? 0 : record.retryCount
        guard error.isRetryable, retries < record.resource.maximumRetryCount, !record.openDeliveries.isEmpty else {
            return fail(id, error, resumeData: resumeData, removing: files)
        }
        let delay = RetryPolicy(maximumRetries: record.resource.maximumRetryCount).delay(
            beforeRetry: retries + 1, jitter: jitter, retryAfter: error.retryAfter)
        progress[id] = nil
        let now = date.secondsSinceEpoch
        journal.update(id) { record in
            record.stage = .idle(resumeData: resumeData)
            record.receivedByteCount = resumeData == nil ? 0 : max(record.receivedByteCount, received)
            record.retryCount = retries + 1
            // The system waits, so that no timer of the app is needed.
            record.notBefore = now + delay.components.seconds
        }
        let event = Event.retrying(attempt: retries + 1, delay: delay, error)
        return [.removeFiles(Array(files)), .emit(record: id, event)] + handOver()
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
            record.stage = .idle(resumeData: resumeData)
            record.receivedByteCount = resumeData == nil ? 0 : max(record.receivedByteCount, received)
            record.isPaused = true
            for index in record.deliveries.indices where record.deliveries[index].outcome == nil {
                record.deliveries[index].outcome = outcome
            }
        }
        if let record = journal[id], record.deliveries.isEmpty, !record.hasUsefulBytes { journal.remove(id) }
        return [.removeFiles(Array(files))] + open.map { .end(record: id, delivery: $0, outcome) } + handOver()
    }

    // MARK: Placing

    /// Records the name that was chosen for a delivery, before the file gets it.
    package mutating func choose(_ path: ContainerPath, for delivery: Int, of id: Int) {
        journal.update(id) { record in
            if let index = record.deliveries.firstIndex(where: { $0.id == delivery }) {
                record.deliveries[index].chosenPath = path
            }
        }
    }

    /// Records the outcomes of placing a record's file.
    package mutating func placed(
        _ outcomes: [(delivery: Int, outcome: BackgroundDelivery.Outcome)], of id: Int
    ) -> [Action] {
        guard let record = journal[id], case .received(let body) = record.stage else { return [] }
        journal.update(id) { record in
            for (delivery, outcome) in outcomes {
                guard let index = record.deliveries.firstIndex(where: { $0.id == delivery }) else { continue }
                record.deliveries[index].outcome = outcome
            }
        }
        var actions: [Action] = []
        // A file that could not be placed is kept for the next request, unless its bytes are wrong.
        let isKept = outcomes.allSatisfy { outcome in
            guard case .failed(let error) = outcome.outcome else { return false }
            return error.code != DownloadError.Code.checksumMismatch.name
        }
        if !isKept {
            journal.update(id) { record in
                record.stage = .idle(resumeData: nil)
                record.receivedByteCount = 0
                record.isPaused = true
            }
            actions.append(.removeFiles([body.fileName]))
        }
        if let record = journal[id], record.deliveries.isEmpty, !record.hasUsefulBytes { journal.remove(id) }
        return actions + outcomes.map { .end(record: id, delivery: $0.delivery, $0.outcome) } + handOver()
    }

    /// Processes that the file of a record is neither in the spool nor at a destination.
    package mutating func bodyIsMissing(_ id: Int) -> [Action] {
        startAnew(
            id, .partialMissing, otherwise: DownloadError(.taskLost, "the finished file does not exist"), removing: [])
    }
}
