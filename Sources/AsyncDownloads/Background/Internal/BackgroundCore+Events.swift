/// The inputs from the system's transfer service.
extension BackgroundCore {
    /// Processes an event, which must have passed the gate.
    mutating func handle(_ event: DaemonEvent) -> [Action] {
        switch event {
        case .progressed(let name, let received, let expected): progressed(name, received, expected)
        case .finished(let name, let body): finished(name, body)
        case .failed(let name, let reason, let resumeData): failed(name, reason, resumeData)
        case .resumeDataArrived(let name, let file): resumeDataArrived(name, file)
        case .ended(let name): ended(name)
        case .allDelivered: []
        }
    }

    private mutating func progressed(_ name: DaemonTaskName, _ received: Int64, _ expected: Int64?) -> [Action] {
        guard let record = journal.record(for: name), record.isHandedOver else { return [] }
        confirm(record.id)
        var (received, expected) = (received, expected)
        if case .handedOver(let task) = record.stage, let offset = task.offset {
            received += offset
            expected = expected.map { $0 + offset }
        }
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
            return finishedLate(name, body)
        }
        let old = Array(record.fileNames)
        var review = review(record, url: task.url, wasResumed: task.resumeData != nil)
        if task.offset != nil { review.base = record.base }
        switch review.verdict(on: body) {
        case .fragment(let info):
            return received(record.id, body, info, wasResumed: true, isFragment: true, removing: [])
        case .whole(let info):
            return received(record.id, body, info, wasResumed: task.resumeData != nil, removing: old)
        case .restart(let reason):
            return startAnew(
                record.id, reason, otherwise: DownloadError(.malformedResponse, "the resumed file is not complete"),
                removing: old + [body.fileName])
        case .failed(let error):
            if let actions = useAnotherURL(record, task, after: error, removing: old + [body.fileName]) {
                return actions
            }
            return retryOrFail(record.id, error, resumeData: nil, removing: old + [body.fileName])
        }
    }

    private func review(_ record: BackgroundRecord, url: String?, wasResumed: Bool) -> FinishedTaskReview {
        FinishedTaskReview(
            requestedURL: url ?? record.resource.url, wasResumed: wasResumed,
            hasChecksum: record.openDeliveries.allSatisfy { $0.checksum != nil } && !record.openDeliveries.isEmpty,
            policy: options.finalURLPolicy, date: date)
    }

    private mutating func received(
        _ id: Int, _ body: Spool.Body, _ info: BackgroundBodyInfo, wasResumed: Bool, isFragment: Bool = false,
        removing files: [String]
    ) -> [Action] {
        journal.update(id) { record in
            var received = ReceivedBody(
                fileName: body.fileName, inode: body.inode, info: info, wasResumed: wasResumed)
            received.modificationTime = body.modificationTime
            if isFragment { received.isFragment = true } else { record.base = nil }
            record.stage = .received(received)
            record.receivedByteCount = info.byteCount
            record.isPaused = false
        }
        progress[id] = nil
        awaitingURL.remove(id)
        let isWanted = journal[id]?.openDeliveries.isEmpty == false
        let place: [Action] = isWanted ? [.emit(record: id, .verifying), .place(record: id)] : []
        return removal(of: files) + place + handOver()
    }

    /// Processes a file of an attempt that another one has replaced, for example because it was taken for lost.
    private mutating func finishedLate(_ name: DaemonTaskName, _ body: Spool.Body) -> [Action] {
        guard name.journal == journal.token, let record = journal[name.record] else {
            // Another process may have recorded the download since the journal was read.
            return name.record > journal.lastNumber ? [] : removal(of: [body.fileName])
        }
        // A repeated event of the attempt that was recorded already must not remove the file.
        if case .received(let received) = record.stage {
            return received.fileName == body.fileName ? [] : removal(of: [body.fileName])
        }
        // It is no longer known from which bytes the attempt continued, so the length has to prove the file.
        var review = review(record, url: nil, wasResumed: true)
        review.hasChecksum = false
        guard !record.openDeliveries.isEmpty, case .whole(let info) = review.verdict(on: body) else {
            return removal(of: [body.fileName])
        }
        let cancel = record.isHandedOver ? cancelTask(of: record) : []
        return cancel + received(record.id, body, info, wasResumed: true, removing: Array(record.fileNames))
    }

    /// Returns the action that removes the files that the journal does not refer to.
    func removal(of files: some Sequence<String>) -> [Action] {
        let unused = files.filter { name in
            // The name starts with the number of the only record that may refer to it.
            let record = Int(name.prefix { $0.isNumber }).flatMap { journal[$0] }
            return record?.fileNames.contains(name) != true
        }
        return unused.isEmpty ? [] : [.removeFiles(unused)]
    }

    private mutating func resumeDataArrived(_ name: DaemonTaskName, _ file: String) -> [Action] {
        // The resume data of a request for the rest of a base isn't documented.
        guard let record = journal.record(for: name), record.stage == .idle(resumeData: nil), record.base == nil,
            record.isPaused || record.openDeliveries.isEmpty
        else { return removal(of: [file]) }
        journal.update(record.id) { $0.stage = .idle(resumeData: file) }
        return []
    }

    private mutating func ended(_ name: DaemonTaskName) -> [Action] {
        guard let record = journal.record(for: name), record.isHandedOver else { return [] }
        // The file would have arrived first. Its callback is lost if the process ended between the two events.
        return failed(name, .fileMissing, nil)
    }

    private mutating func failed(
        _ name: DaemonTaskName, _ reason: DaemonFailure.Reason, _ resumeData: String?
    ) -> [Action] {
        let wasCancelled = cancelled.remove(name) != nil
        guard let record = journal.record(for: name), case .handedOver(let task) = record.stage else {
            // Another process may have recorded the download since the journal was read.
            return name.record > journal.lastNumber ? [] : removal(of: [resumeData].compactMap { $0 })
        }
        var old = record.fileNames.subtracting([resumeData].compactMap { $0 })
        // The service's resume data of a request with a range isn't documented, so the range is requested again.
        let ignored = task.offset == nil ? nil : resumeData
        let resumeData = ignored == nil ? resumeData : nil
        if let ignored { old.insert(ignored) }
        let received = progress[record.id]?.received ?? 0
        let hasProgress = received > record.receivedByteCount
        let now = date.secondsSinceEpoch
        func idle(_ record: inout BackgroundRecord) -> Bool {
            if !wasCancelled { record.wait(for: .zero, from: now) }
            return record.keep(resumeData, received: received)
        }
        switch reason {
        case .cancelled where wasCancelled || record.isPaused, .interrupted:
            if journal.update(record.id, idle) == true { refreshed.remove(record.id) }
            return stopped(record.id, removing: old)
        case .userForceQuit:
            // A caller of this process that has asked for the file since then does not want it paused.
            let pauses = options.forceQuitPolicy == .pause && !asked.contains(record.id)
            if journal.update(record.id, idle) == true { refreshed.remove(record.id) }
            if pauses { journal.update(record.id) { $0.isPaused = true } }
            return stopped(record.id, removing: old, pausesHandles: pauses)
        case .notStored(let error):
            return fail(
                record.id, error, resumeData: nil, removing: old.union([resumeData].compactMap { $0 }))
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
        case .transfer(let error) where error.code == .sessionInUse:
            // The task has not run, so its resume data is still valid.
            return retryOrFail(
                record.id, error, resumeData: resumeData ?? task.resumeData,
                removing: resumeData == nil ? [] : old)
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
    mutating func adopt(_ plan: RelaunchPlan) -> [Action] {
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
    mutating func lost(_ id: Int) -> [Action] {
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
}
