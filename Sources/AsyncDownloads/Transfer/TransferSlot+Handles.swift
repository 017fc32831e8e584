/// Inputs and queries from handles, which are answered by the present stage.
extension TransferSlot: SubscribedTransfer {
    func addHandles(where isIncluded: (DownloadID, DownloadRequest) -> Bool) -> [AddedHandle] {
        input(queued: { $0.addHandles(where: isIncluded) }, active: { $0.addHandles(where: isIncluded) })
    }

    func handleReleased(_ id: SubscriberID) {
        input(queued: { $0.handleReleased() }, active: { $0.handleReleased(id) })
    }

    func openStream(_ id: SubscriberID, _ stream: EventStream) -> StreamID { activate().openStream(id, stream) }

    func closeStream(_ id: SubscriberID, stream: StreamID, isCancellation: Bool) -> DownloadError {
        activate().closeStream(id, stream: stream, isCancellation: isCancellation)
    }

    func addObserver(_ id: SubscriberID, _ observer: @escaping @Sendable () -> Void) -> ObserverID {
        activate().addObserver(id, observer)
    }

    func removeObserver(_ observer: ObserverID, of id: SubscriberID) { activate().removeObserver(observer, of: id) }

    func newWaiter() -> WaiterID { input(queued: { $0.newWaiter() }, active: { $0.newWaiter() }) }

    func wait(
        _ waiter: WaiterID, of id: SubscriberID, resume: @escaping @Sendable (Subscriber.Outcome) -> Void
    ) -> WaitAnswer {
        input(
            queued: { $0.wait(QueuedTransfer.Waiter(id: waiter, resume: resume)) },
            active: { $0.wait(waiter, of: id, resume: resume) })
    }

    func cancelWait(_ waiter: WaiterID, of id: SubscriberID) {
        input(queued: { $0.cancelWait(waiter) }, active: { $0.cancelWait(waiter, of: id) })
    }

    var remembersOutcomes: Bool { false }

    func acknowledge(_ id: SubscriberID) {}

    func pause(_ id: SubscriberID) {
        input(queued: { $0.pause() }, active: { $0.pause(id) })
    }

    func resume(_ id: SubscriberID) {
        input(queued: { $0.resume() }, active: { $0.resume(id) })
        environment.suspensionGuard?.transferStarted()
    }

    func detach(_ id: SubscriberID, _ error: DownloadError, keepingBytes: Bool) {
        let keepsAll = keepingBytes && environment.abandonment == .pause
        let isDetached = input(
            queued: { keepsAll ? $0.end(error.code).map { true } : nil },
            active: { $0.detach(id, error, keepingBytes: keepingBytes) })
        if !isDetached, !keepingBytes { discardBytes(after: id) }
    }

    func replaceURL(with fresh: FreshURL) { activate().replaceURL(with: fresh) }

    func policies(of id: SubscriberID) -> ResolvedPolicies? {
        query(queued: { _ in environment.policies(of: request) }, active: { $0.policies(of: id) })
    }

    func updatePolicies(of id: SubscriberID, _ change: (inout ResolvedPolicies) -> Void) {
        activate().updatePolicies(of: id, change)
    }

    func status(of id: SubscriberID) -> SubscriberStatus {
        query(queued: { $0.status(of: request, environment) }, active: { $0.status(of: id) })
    }
}

/// The removal of the bytes of an ended download.
extension TransferSlot {
    /// Discards the bytes of a subscriber that has ended without a file, unless other downloads may need them.
    func discardBytes(after id: SubscriberID) {
        guard status(of: id).state != .completed, activeTransfer?.discard(after: id) != true, !isPartialFileShared
        else { return }
        environment.registry.discardBytes(of: self)
    }

    /// Whether another transfer with subscribers has the same partial file: the file's name doesn't depend on secret
    /// headers, so a transfer with other secret headers may share it.
    private var isPartialFileShared: Bool {
        let (identity, url) = (request.identity, ByteText(TransferKey.url(of: request.url)))
        // Transfers are filtered first, because determining all file names would take long for a large number of
        // transfers.
        let others = environment.registry.transfers { other in
            guard other !== self, other.request.identity == identity else { return false }
            return identity != nil || ByteText(TransferKey.url(of: other.request.url)) == url
        }
        let names = environment.store.names(of: location)
        return others.contains { !$0.activeSubscribers.isEmpty && environment.store.names(of: $0.location) == names }
    }
}

extension ActiveTransfer {
    /// Discards the bytes of a transfer without subscribers, unless the transfer has ended.
    ///
    /// - Parameter id: A subscriber that has its outcome; nil for a new transfer without subscribers. A transfer that
    ///   continues without subscribers does so on behalf of the subscriber that was detached last.
    /// - Returns: Whether the transfer has not ended.
    func discard(after id: SubscriberID?) -> Bool {
        let now = environment.time.now
        return update { state, decision in
            guard state.machine.phase != .ended else { return false }
            let continues = state.machine.intent == .run && state.subscribers.lastDetached?.id != id
            if state.subscribers.isEmpty, !continues {
                decision.actions += state.machine.stop(.discard, at: now)
            }
            return true
        }
    }
}
