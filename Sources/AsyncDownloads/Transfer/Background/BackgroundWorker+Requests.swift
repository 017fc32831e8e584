internal import Foundation

/// The inputs from handles, from clients, and from the app's life cycle.
extension BackgroundWorker {
    /// Adds the subscriber's destination to the journal, unless the subscriber has ended.
    func join(
        _ transfer: BackgroundTransfer, _ subscriber: SubscriberID, _ id: DownloadID, _ request: DownloadRequest,
        _ attributes: FileAttributes, isRunning: Bool, maximumRetryCount: Int
    ) -> [BackgroundCore.Action] {
        guard let opened, transfer.isActive(subscriber) else { return [] }
        let group = opened.core.journal.current.options.sharedContainerIdentifier
        guard let (url, choosesName) = request.destination.fileURL,
            let destination = ContainerPath(url.filePath, in: environment.containers, group: group)
        else {
            transfer.end(subscriber, DownloadError(.destinationUnusable, "its path cannot be recorded"))
            return []
        }
        // The app and its extensions have different home directories, and any of them may place the file.
        guard group == nil || destination.base != .home else {
            transfer.end(
                subscriber, DownloadError(.destinationUnusable, "it is not in the container of the session's app group")
            )
            return []
        }
        var resource = BackgroundResource(request, transfer.key, maximumRetryCount: maximumRetryCount)
        resource.networks = transfer.permittedNetworks ?? PermittedNetworks()
        if !choosesName, opened.core.recordPlacing(at: destination, otherThan: resource) != nil {
            transfer.end(subscriber, DownloadError(.destinationInUse, url.lastPathComponent))
            return []
        }
        if isRunning, opened.core.needsTask(resource), let error = connectionError() {
            transfer.end(subscriber, error)
            return []
        }
        let (disk, containers) = (environment.disk, environment.containers)
        var added = (record: 0, delivery: 0)
        let actions = withCore { core in
            let (record, delivery, actions) = core.add(
                resource, to: destination, choosesName: choosesName,
                defaultFileName: choosesName ? request.givenFileName : nil, checksum: request.checksum?.text,
                maximumByteCount: request.maximumByteCount, attributes: attributes, isPaused: !isRunning,
                subscriber: .init(id: id, userInfo: request.userInfo)
            ) { path, info in
                guard let path = path.path(in: containers), let found = try? disk.information(at: path) else {
                    return false
                }
                return info.describes(found)
            }
            added = (record, delivery)
            if request.refreshURL != nil { core.refreshable.insert(record) }
            return actions + core.permit(resource.networks, record)
        }
        bind(transfer, subscriber, id, record: added.record, delivery: added.delivery)
        return actions + outcome(of: added.delivery, added.record)
    }

    private func bind(
        _ transfer: BackgroundTransfer, _ subscriber: SubscriberID, _ id: DownloadID, record: Int, delivery: Int
    ) {
        transfer.bind(subscriber, id, to: delivery, of: record)
        transfers[record] = transfer
    }

    /// Returns the report of an outcome that the app has not received yet.
    private func outcome(of delivery: Int, _ record: Int) -> [BackgroundCore.Action] {
        guard let recorded = opened?.core.journal[record]?.deliveries.first(where: { $0.id == delivery })?.outcome
        else {
            return []
        }
        return [.end(record: record, delivery: delivery, recorded)]
    }

    /// Updates the download after subscribers were paused or resumed.
    func demandChanged(_ transfer: BackgroundTransfer) -> [BackgroundCore.Action] {
        guard let record = transfer.record else { return [] }
        let demand = transfer.demand
        guard demand.isActive else { return [] }
        return withCore { $0.setPaused(demand.isPaused, record) }
    }

    /// Updates the download after the networks permitted by the subscribers have changed.
    func networkAccessChanged(_ transfer: BackgroundTransfer) -> [BackgroundCore.Action] {
        guard let record = transfer.record, let networks = transfer.permittedNetworks else { return [] }
        return withCore { $0.permit(networks, record) }
    }

    /// Handles that a subscriber was canceled.
    func left(
        _ transfer: BackgroundTransfer, _ id: SubscriberID, keepingBytes: Bool, policy: AbandonmentPolicy
    ) -> [BackgroundCore.Action] {
        guard let opened, let (record, delivery, download, isShared) = transfer.binding(of: id) else { return [] }
        guard !isShared else {
            _ = withCore { core in
                core.removeRecipient(download, of: delivery, in: record)
                return []
            }
            return networkAccessChanged(transfer) + demandChanged(transfer)
        }
        let isLast = transfer.isIdle
        if opened.session.removeIfIdle(transfer) { transfers[record] = nil }
        if isLast, keepingBytes, policy == .finish { return [] }
        let actions = withCore { $0.cancel(delivery, of: record, keepingBytes: keepingBytes && policy != .discard) }
        return actions + networkAccessChanged(transfer) + demandChanged(transfer)
    }

    /// Handles that a subscriber that has ended without a file was discarded, so that the app needs neither its outcome
    /// nor its bytes.
    func discarded(_ transfer: BackgroundTransfer, _ id: SubscriberID) -> [BackgroundCore.Action] {
        guard let (record, delivery, download, _) = transfer.binding(of: id) else { return [] }
        return withCore { $0.acknowledge(delivery, of: record, by: download, keepingBytes: false) }
    }

    /// Uses the options and the log of a new client.
    func use(_ settings: BackgroundSession.ClientSettings) -> [BackgroundCore.Action] {
        log = settings.log
        let reserved = Set((opened?.connections ?? [:]).keys)
        return withCore { core in
            core.journal.use(settings.options, reserving: reserved)
            return core.handOver()
        }
    }

    /// Forgets the handles of a client that was shut down; their downloads continue.
    func forgetHandles() {
        (transfers, log) = ([:], Log())
        for task in (opened?.refreshes ?? [:]).values { task.cancel() }
        _ = withCore { core in
            core.forgetCallers()
            return []
        }
    }

    /// Hands over downloads that waited for the foreground, and reads the progress of the other downloads again.
    func lifecycleChanged(_ change: LifecycleChange) -> [BackgroundCore.Action] {
        guard change == .willEnterForeground, let opened, opened.gate.isOpen else { return [] }
        let waiting = saveAgain()
        for generation in opened.connections.keys {
            list(generation) { worker, tasks in (tasks ?? []).flatMap { worker.progressed($0, generation) } }
            reconnect(generation)
        }
        return waiting
            + withCore { core in
                core.isInForeground = true
                return core.handOver()
            }
    }

    private func progressed(_ task: DaemonTask, _ generation: Int) -> [BackgroundCore.Action] {
        guard let name = DaemonTaskName(task.description),
            opened?.core.journal.record(for: name)?.generation == generation, task.receivedByteCount > 0
        else { return [] }
        return withCore {
            $0.handle(.progressed(name, received: task.receivedByteCount, expected: task.expectedByteCount))
        }
    }

    // MARK: Restoring

    /// Returns a handle for each delivery in the journal whose outcome the app has not received.
    func restoredItems() -> [RestoredItem] {
        guard let opened else { return [] }
        var items: [RestoredItem] = []
        var actions: [BackgroundCore.Action] = []
        for record in opened.core.journal.records {
            for delivery in record.deliveries where delivery.acknowledgedAt == nil {
                guard let request = DownloadRequest(record, delivery, in: environment.containers) else { continue }
                let subscribers =
                    delivery.subscribers.isEmpty ? [.init(id: DownloadID(), userInfo: [:])] : delivery.subscribers
                for subscriber in subscribers {
                    items.append(
                        presentItem(subscriber.id, record, delivery)
                            ?? newItem(subscriber, request, record, delivery, in: opened))
                }
                actions += outcome(of: delivery.id, record.id)
            }
        }
        let session = opened.session
        let reports = actions
        session.submit { _ in reports }
        return items
    }

    /// Returns another handle of a download without an outcome that has a handle in this process.
    private func presentItem(
        _ id: DownloadID, _ record: BackgroundRecord, _ delivery: BackgroundDelivery
    ) -> RestoredItem? {
        guard let transfer = transfers[record.id],
            let added = transfer.addHandles(where: { other, _ in other == id }).first
        else { return nil }
        return RestoredItem(
            id: id, request: added.request, transfer: transfer, subscriber: added.subscriber,
            condition: condition(of: record, delivery))
    }

    private func newItem(
        _ subscriber: BackgroundDelivery.Recipient, _ request: DownloadRequest, _ record: BackgroundRecord,
        _ delivery: BackgroundDelivery, in opened: Opened
    ) -> RestoredItem {
        var request = request
        request.userInfo = subscriber.userInfo
        guard let joined = opened.session.join(subscriber.id, request, isRunning: !record.isPaused) else {
            preconditionFailure("a request that is coalesced was refused")
        }
        bind(joined.transfer, joined.subscriber, subscriber.id, record: record.id, delivery: delivery.id)
        self.opened?.core.callers.insert(subscriber.id)
        joined.transfer.show(record, progress: opened.core.progress[record.id])
        return RestoredItem(
            id: subscriber.id, request: request, transfer: joined.transfer, subscriber: joined.subscriber,
            condition: condition(of: record, delivery))
    }

    private func condition(of record: BackgroundRecord, _ delivery: BackgroundDelivery) -> RestoredItem.Condition {
        switch delivery.outcome {
        case .placed?: return .finished
        case .failed(let error)?: return error.code == DownloadError.Code.taskLost.name ? .lost : .failed
        case nil: break
        }
        switch record.stage {
        case .received: return .finished
        case .idle where record.isPaused: return .paused
        case .idle, .handedOver: break
        }
        if opened?.lost.contains(record.id) == true { return .lost }
        return record.isHandedOver ? .running : .waiting
    }
}

extension BackgroundTransfer {
    /// Sets the state of the work that an earlier process has left.
    func show(_ record: BackgroundRecord, progress: (received: Int64, expected: Int64?)?) {
        update { state, _ in
            state.progress.receivedByteCount = progress?.received ?? record.receivedByteCount
            state.progress.expectedByteCount = progress?.expected
            switch record.stage {
            case .handedOver: state.state = .downloading
            case .idle: state.state = record.isPaused ? .paused : .waiting
            case .received: state.state = .verifying
            }
        }
    }

    /// The subscribers that are waiting for their outcomes.
    var activeSubscribers: [SubscriberID] { update { state, _ in state.subscribers.activeIDs } }
}
