internal import Foundation

/// The tasks that are handed over to the system.
extension BackgroundCore {
    /// Hands over as many waiting downloads as the limit permits.
    ///
    /// In the background, only downloads that a caller has just requested and repeated attempts are handed over,
    /// because the system delays tasks that are started in the background, longer with each launch.
    mutating func handOver() -> [Action] {
        var room = options.maximumTaskCount - journal.handedOverCount
        guard room > 0, !isDisconnected else { return [] }
        let waiting = journal.records
            .filter { $0.isReadyForHandOver && !awaitingURL.contains($0.id) }
            .filter { isInForeground || requested.contains($0.id) || $0.attempt > 0 }
            .sorted { ($0.resource.priorityRank, -$0.id) > ($1.resource.priorityRank, -$1.id) }
        var actions: [Action] = []
        for record in waiting {
            guard room > 0 else { break }
            room -= 1
            requested.remove(record.id)
            let generation = journal.current.number
            journal.update(record.id) { record in
                let resumeData = record.resumeDataName
                // The service continues with the URL in the resume data.
                let url = resumeData == nil ? record.nextURL : record.resumeURL ?? record.nextURL
                record.stage = .handedOver(
                    .init(
                        resumeData: resumeData, url: url, offset: resumeData == nil ? record.base?.byteCount : nil,
                        networks: record.resource.networks))
                record.attempt += 1
                record.generation = generation
            }
            if let record = journal[record.id] {
                actions.append(.start(journal.taskName(of: record), generation: generation))
            }
        }
        return actions
    }

    /// Processes that a task was not handed over, because the session has ended: it waits for the next session.
    mutating func notStarted(_ name: DaemonTaskName) {
        guard let id = journal.record(for: name)?.id else { return }
        journal.update(id) { record in
            guard case .handedOver(let task) = record.stage, !task.isConfirmed else { return }
            record.stage = .idle(resumeData: task.resumeData)
        }
    }

    /// Processes that another process has the session, which therefore has none of the tasks in `started`.
    ///
    /// Downloads for which a caller of this process waits fail. Downloads that earlier processes recorded wait for the
    /// session.
    mutating func sessionIsInUse(_ started: Set<DaemonTaskName>, _ error: DownloadError) -> [Action] {
        for name in started { notStarted(name) }
        let refused = journal.records.filter { asked.contains($0.id) && $0.isReadyForHandOver }
        return refused.flatMap { fail($0.id, error, resumeData: $0.resumeDataName, removing: []) }
    }

    /// Returns whether a request for a resource needs a task that no session has yet.
    func needsTask(_ resource: BackgroundResource) -> Bool {
        guard let record = journal.record(of: resource) else { return true }
        guard case .idle = record.stage, record.openDeliveries.isEmpty else { return false }
        return !record.deliveries.contains { if case .placed? = $0.outcome { true } else { false } }
    }

    /// Returns whether the resume data of an attempt comes from a task that may use other networks.
    ///
    /// The service keeps the permissions of that task, so its bytes have to be requested in another way.
    func resumesOnOtherNetworks(_ name: DaemonTaskName) -> Bool {
        guard let record = journal.record(for: name), case .handedOver(let task) = record.stage,
            task.resumeData != nil
        else { return false }
        return record.resumeNetworks ?? PermittedNetworks() != task.networks ?? PermittedNetworks()
    }

    /// Permits a download to use other networks, for which its task is started again.
    mutating func permit(_ networks: PermittedNetworks, _ id: Int) -> [Action] {
        guard let record = journal[id], record.resource.networks != networks else { return [] }
        journal.update(id) { $0.resource.networks = networks }
        return record.isHandedOver && !record.isPaused ? cancelTask(of: record) : []
    }

    /// Removes the resume data of an attempt that is about to start, because its file cannot be read, or because a task
    /// that continues from it could use other networks.
    ///
    /// Otherwise, the response to a request without a range would be mistaken for the response to a continued request.
    ///
    /// - Parameter base: The first bytes, which the next task continues.
    mutating func removeResumeData(of name: DaemonTaskName, replacedBy base: BackgroundBase? = nil) {
        guard let id = journal.record(for: name)?.id else { return }
        journal.update(id) { record in
            guard case .handedOver(var task) = record.stage else { return }
            if let base { record.base = base }
            (task.resumeData, task.url, task.offset) = (nil, record.nextURL, record.base?.byteCount)
            record.stage = .handedOver(task)
            record.receivedByteCount = base?.byteCount ?? 0
        }
    }

    /// Returns the task to create for an attempt, or nil if the attempt is no longer current.
    ///
    /// - Parameter resumeData: The contents of the file with the resume data, if the attempt continues from any.
    func request(for name: DaemonTaskName, resumeData: [UInt8]?) -> DaemonTaskRequest? {
        guard let record = journal.record(for: name), case .handedOver(let task) = record.stage,
            let url = URLText(task.url ?? record.nextURL)
        else { return nil }
        var request = DaemonTaskRequest(description: name.text, url: url.url)
        for pair in record.resource.headers where pair.count == 2 { request.headers.append(pair[1], for: pair[0]) }
        // Rule 6: offsets count the bytes of the representation only without a content coding.
        request.headers["Accept-Encoding"] = "identity"
        if task.offset != nil, let fields = record.base?.continuation?.requested.fields {
            for field in fields { request.headers[field.name] = field.value }
        }
        request.networks = task.networks ?? PermittedNetworks()
        request.expectedByteCount = record.resource.expectedByteCount
        request.earliestBegin = [record.resource.earliestBegin, record.notBefore].compactMap { $0 }.max()
        if task.resumeData != nil { request.resumeData = resumeData.map { .init($0) } }
        return request
    }

    /// Returns the name of the file with the resume data that an attempt continues from, if any.
    func resumeDataName(for name: DaemonTaskName) -> String? {
        guard let record = journal.record(for: name), record.isHandedOver else { return nil }
        return record.resumeDataName
    }
}
