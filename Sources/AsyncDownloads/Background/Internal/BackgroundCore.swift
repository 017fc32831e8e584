/// The decisions of a background session about its downloads, without effects.
///
/// Inputs are mutating functions, and each returns the actions that follow. The journal must be durable before the
/// actions are performed. The core knows nothing about handles; it numbers records and deliveries.
struct BackgroundCore: Sendable {
    /// Something to do after the journal was saved, in order.
    enum Action: Sendable {
        /// Hand a task over to the session of a generation.
        case start(DaemonTaskName, generation: Int)
        /// Cancel a task; its end is reported with its resume data.
        case cancel(DaemonTaskName, generation: Int)
        /// Verify the file of a record, and place it for its open deliveries.
        case place(record: Int)
        /// Remove files of the spool that nothing refers to any more.
        case removeFiles([String])
        /// Report an event to the open deliveries of a record.
        case emit(record: Int, Event)
        /// Report the outcome of a delivery.
        case end(record: Int, delivery: Int, BackgroundDelivery.Outcome)
        /// Ask a handle for a fresh URL, because a server has refused the present one with an error.
        case refreshURL(record: Int, URLRefresh.Context, DownloadError)
    }

    /// A notification for the handles of a record.
    enum Event: Sendable {
        case waiting
        case running(received: Int64, expected: Int64?)
        case paused(received: Int64)
        /// The system has stopped the download, and its handles have to resume it.
        case stopped(received: Int64)
        case restarted(RestartReason, discarded: Int64)
        case retrying(attempt: Int, delay: Duration, DownloadError)
        case verifying
    }

    var journal: BackgroundJournal
    /// The current time, in seconds since 1970, which the owner sets before an input.
    var date = HTTPDate(secondsSinceEpoch: 0)
    /// Whether the app is in the foreground, where tasks that wait in the journal may be handed over.
    var isInForeground = true
    /// Whether the system's session has ended, so that tasks wait in the journal until there is another one.
    var isDisconnected = false
    /// The received bytes of running tasks.
    var progress: [Int: (received: Int64, expected: Int64?)] = [:]
    /// The tasks that were canceled by an input, and whose end is awaited.
    var cancelled: Set<DaemonTaskName> = []
    /// The records whose caller has just asked for them, which are handed over in the background as well.
    var requested: Set<Int> = []
    /// The records that a caller in this process wants to run, so that only a caller pauses them.
    var asked: Set<Int> = []
    /// The downloads with a handle in this process, which the app may still read.
    var callers: Set<DownloadID> = []
    /// The records with a handle that can supply a fresh URL, which the owner sets.
    var refreshable: Set<Int> = []
    /// The records that wait for a fresh URL.
    var awaitingURL: Set<Int> = []
    /// The records whose fresh URL has not led to a byte that was kept.
    var refreshed: Set<Int> = []

    init(_ journal: BackgroundJournal) {
        self.journal = journal
    }

    var options: BackgroundOptions { journal.current.options }

    // MARK: Requests

    /// Adds a destination for a resource, to its existing record or to a new one.
    ///
    /// - Parameter isInPlace: Returns whether a file that was placed before is still there. If it is, it is the
    ///   outcome.
    /// - Returns: The number of the record, and the number of the delivery that serves the destination.
    mutating func add(
        _ resource: BackgroundResource, to destination: ContainerPath, choosesName: Bool,
        defaultFileName: String? = nil, checksum: String?, maximumByteCount: Int64?,
        attributes: FileAttributes = FileAttributes(), isPaused: Bool, subscriber: BackgroundDelivery.Recipient? = nil,
        isInPlace: (ContainerPath, BackgroundBodyInfo) -> Bool = { _, _ in true }
    ) -> (record: Int, delivery: Int, actions: [Action]) {
        let id: Int
        let isNew: Bool
        if let present = journal.record(of: resource) {
            (id, isNew) = (present.id, false)
        } else {
            (id, isNew) = (journal.add(resource), true)
        }
        if let subscriber { callers.insert(subscriber.id) }
        let isShared = options.sharedContainerIdentifier != nil
        let (delivery, isIdle) =
            journal.update(id) { record -> (Int, Bool) in
                var wanted = BackgroundDelivery(
                    id: record.lastDelivery + 1, destination: destination, choosesName: choosesName,
                    defaultFileName: defaultFileName, checksum: checksum, maximumByteCount: maximumByteCount)
                wanted.attributes = attributes
                let wasIdle = record.openDeliveries.isEmpty
                let number: Int
                let index = record.deliveries.firstIndex { $0.serves(wanted) }
                if let index, record.deliveries[index].isOutcome(ofNewRequest: isInPlace) {
                    // The app waits for it again.
                    record.deliveries[index].acknowledgedAt = nil
                    number = record.deliveries[index].id
                } else {
                    // The number is a new one, because a handle may still receive, and acknowledge, the former outcome.
                    if let index { record.deliveries.remove(at: index) }
                    record.deliveries.append(wanted)
                    record.lastDelivery = wanted.id
                    number = wanted.id
                }
                if let subscriber, let index = record.deliveries.firstIndex(where: { $0.id == number }) {
                    // Subscribers of an earlier process whose handles were not restored have no reader. In an app
                    // group, they may belong to another running process.
                    if !isShared { record.deliveries[index].subscribers.removeAll { !callers.contains($0.id) } }
                    record.deliveries[index].add(subscriber)
                }
                if wasIdle, !record.openDeliveries.isEmpty {
                    // The intent of the caller counts again after a failure, a cancellation, or for a new record.
                    record.isPaused = isPaused
                    record.refillRetries()
                    record.resource = resource
                } else if !isPaused {
                    record.isPaused = false
                }
                if record.resource.url != resource.url || wasIdle {
                    // The next task uses the URL that the caller has stated last.
                    record.resource.url = resource.url
                    record.freshURL = nil
                }
                record.abandonedAt = nil
                return (number, wasIdle)
            } ?? (0, false)
        guard journal[id]?.deliveries.first(where: { $0.id == delivery })?.outcome == nil else {
            return (id, delivery, [])
        }
        if !isPaused {
            requested.insert(id)
            asked.insert(id)
        }
        var actions: [Action] = []
        if case .received? = journal[id]?.stage, journal[id]?.openDeliveries.isEmpty == false {
            actions.append(.place(record: id))
        } else if isNew || isIdle {
            actions.append(.emit(record: id, .waiting))
        } else if let progress = progress[id] {
            actions.append(.emit(record: id, .running(received: progress.received, expected: progress.expected)))
        }
        return (id, delivery, actions + handOver())
    }

    /// Returns a record of another resource that has an open delivery to the path.
    func recordPlacing(at path: ContainerPath, otherThan resource: BackgroundResource) -> Int? {
        journal.records.first { record in
            record.openDeliveries.contains { $0.path == path } && record.resource.key != resource.key
        }?.id
    }

    /// Pauses or resumes a download.
    mutating func setPaused(_ isPaused: Bool, _ id: Int) -> [Action] {
        guard let record = journal[id], record.isPaused != isPaused, !record.openDeliveries.isEmpty else { return [] }
        if case .received = record.stage { return [] }
        journal.update(id) { $0.isPaused = isPaused }
        guard isPaused else {
            requested.insert(id)
            asked.insert(id)
            journal.update(id) { $0.refillRetries() }
            return [.emit(record: id, .waiting)] + handOver()
        }
        asked.remove(id)
        guard record.isHandedOver else { return [.emit(record: id, .paused(received: record.receivedByteCount))] }
        return cancelTask(of: record)
    }

    /// Removes a delivery whose handle was canceled.
    ///
    /// - Parameter keepingBytes: Whether the bytes are kept for a later request if no other delivery needs them.
    mutating func cancel(_ delivery: Int, of id: Int, keepingBytes: Bool) -> [Action] {
        callers.subtract(journal[id]?.deliveries.first { $0.id == delivery }?.subscribers.map(\.id) ?? [])
        journal.update(id) { $0.deliveries.removeAll { $0.id == delivery } }
        return abandonIfUnneeded(id, keepingBytes: keepingBytes)
    }

    /// Records that one of the downloads that a delivery serves was canceled, or has received its outcome.
    ///
    /// - Returns: Whether the delivery serves others that have handles in this process.
    @discardableResult
    mutating func removeRecipient(_ download: DownloadID?, of delivery: Int, in id: Int) -> Bool {
        if let download { callers.remove(download) }
        return journal.update(id) { record in
            guard let index = record.deliveries.firstIndex(where: { $0.id == delivery }) else { return false }
            record.deliveries[index].subscribers.removeAll { $0.id == download }
            return record.deliveries[index].subscribers.contains { callers.contains($0.id) }
        } ?? false
    }

    /// Records that the app has received the outcome of a delivery.
    ///
    /// The delivery is needed until all downloads that it serves, and that have handles in this process, have received
    /// the outcome.
    ///
    /// A placed file is remembered for some time, so that the same request finds it: the process may end before the app
    /// has recorded what it has received.
    ///
    /// - Parameter keepingBytes: Whether the bytes of a download without a file are kept for a later request. If not, a
    ///   delivery whose handle was canceled ends, too.
    mutating func acknowledge(
        _ delivery: Int, of id: Int, by download: DownloadID? = nil, keepingBytes: Bool = true
    ) -> [Action] {
        if removeRecipient(download, of: delivery, in: id) { return [] }
        let now = date.secondsSinceEpoch
        journal.update(id) { record in
            guard let index = record.deliveries.firstIndex(where: { $0.id == delivery }) else { return }
            switch record.deliveries[index].outcome {
            case .placed: record.deliveries[index].acknowledgedAt = now
            case .failed: record.deliveries.remove(at: index)
            case nil: if !keepingBytes { record.deliveries.remove(at: index) }
            }
        }
        journal.removeSurplusDeliveries()
        return abandonIfUnneeded(id, keepingBytes: keepingBytes)
    }

    private mutating func abandonIfUnneeded(_ id: Int, keepingBytes: Bool) -> [Action] {
        guard let record = journal[id], record.openDeliveries.isEmpty else { return [] }
        if record.isHandedOver {
            guard keepingBytes else {
                let cancel = cancelTask(of: record)
                journal.removeBytes(of: id)
                forget(id)
                return cancel + [.removeFiles(Array(record.fileNames))] + handOver()
            }
            journal.update(id) { $0.isPaused = true }
            markAbandoned(id)
            asked.remove(id)
            return cancelTask(of: record)
        }
        guard !record.isPending, !keepingBytes || !record.hasUsefulBytes else {
            markAbandoned(id)
            return []
        }
        if record.deliveries.isEmpty || record.hasUsefulBytes { journal.removeBytes(of: id) }
        forget(id)
        return removal(of: record.fileNames)
    }

    /// Records when the last delivery left, after which the bytes are kept for a limited time.
    private mutating func markAbandoned(_ id: Int) {
        let now = date.secondsSinceEpoch
        journal.update(id) { if !$0.isPending, $0.abandonedAt == nil { $0.abandonedAt = now } }
    }

    mutating func cancelTask(of record: BackgroundRecord) -> [Action] {
        let name = journal.taskName(of: record)
        guard cancelled.insert(name).inserted else { return [] }
        return [.cancel(name, generation: record.generation)]
    }

    /// Forgets the requests of callers of this process, because they have ended.
    mutating func forgetCallers() {
        (asked, callers, refreshable) = ([], [], [])
    }

    mutating func forget(_ id: Int) {
        progress[id] = nil
        requested.remove(id)
        asked.remove(id)
        refreshable.remove(id)
        awaitingURL.remove(id)
        refreshed.remove(id)
    }
}

extension BackgroundDelivery {
    /// Returns whether a new request for the same file is served by this delivery.
    ///
    /// A failure that the app has not received is replaced by the new attempt, and so is a file that is gone.
    fileprivate func isOutcome(ofNewRequest isInPlace: (ContainerPath, BackgroundBodyInfo) -> Bool) -> Bool {
        switch outcome {
        case .placed(let path, let info): isInPlace(path, info)
        case .failed: false
        case nil: true
        }
    }
}

extension BackgroundRecord {
    /// Refills the retry budget, because a caller has requested the file.
    mutating func refillRetries() {
        (freshStartCount, notBefore) = (0, nil)
        retries.refill(found: receivedByteCount)
    }

    /// Whether a later request for the resource would continue from the bytes of the record.
    var hasUsefulBytes: Bool {
        switch stage {
        case .idle(let resumeData): resumeData != nil || base != nil
        case .handedOver, .received: true
        }
    }
}
