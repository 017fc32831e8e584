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
