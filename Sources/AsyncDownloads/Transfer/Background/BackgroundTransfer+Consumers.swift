/// The inputs from handles, and from tasks that read their events or await their outcomes.
extension BackgroundTransfer: SubscribedTransfer {
    var remembersOutcomes: Bool { true }

    func addHandles(where isIncluded: (DownloadID, DownloadRequest) -> Bool) -> [AddedHandle] {
        update { state, _ in state.subscribers.addHandles(where: isIncluded) }
    }

    func handleReleased(_ id: SubscriberID) {
        update { state, _ in _ = state.subscribers.update(id) { $0.handleCount -= 1 } }
    }

    func pause(_ id: SubscriberID) { setPaused(true, id) }

    func resume(_ id: SubscriberID) { setPaused(false, id) }

    private func setPaused(_ isPaused: Bool, _ id: SubscriberID) {
        let isChanged = update { state, effects in
            guard state.subscribers.setPaused(isPaused, id, at: .zero) else { return false }
            if isPaused, !state.subscribers.arePaused {
                let event = DownloadEvent.paused(receivedByteCount: state.progress.receivedByteCount)
                effects += state.subscribers.update(id) { $0.emit(event) } ?? []
            } else if !isPaused {
                let event = DownloadEvent.resumed(fromOffset: state.progress.receivedByteCount)
                effects += state.subscribers.update(id) { $0.emit(event) } ?? []
            }
            return true
        }
        guard isChanged else { return }
        session.demandChanged(self)
        session.networkAccessChanged(self)
    }

    func detach(_ id: SubscriberID, _ error: DownloadError, keepingBytes: Bool) {
        update { state, effects in detach(id, error, keepingBytes: keepingBytes, &state, &effects) }
    }

    /// Detaches a subscriber, as part of another input.
    private func detach(
        _ id: SubscriberID, _ error: DownloadError, keepingBytes: Bool, _ state: inout State,
        _ effects: inout [DeferredEffect]
    ) {
        guard let subscriber = state.subscribers[id] else { return }
        switch subscriber.outcome {
        case nil: break
        case .failure? where !keepingBytes:
            _ = state.takeUnacknowledged(id)
            effects.append(DeferredEffect { [self] in session.discarded(self, id) })
            return
        case .success?, .failure?: return
        }
        var error = error
        error.url = subscriber.request.url
        error.retainedByteCount = keepingBytes ? state.progress.receivedByteCount : 0
        effects += state.subscribers.end(id, .failure(error), at: state.progress)
        effects.append(DeferredEffect { [self] in session.left(self, id, keepingBytes: keepingBytes) })
    }

    /// Detaches a subscriber if its last consumer was canceled, and returns the error for that consumer.
    private func detachIfUnread(
        _ id: SubscriberID, _ state: inout State, _ effects: inout [DeferredEffect]
    ) -> DownloadError {
        if state.subscribers[id]?.hasConsumers == false {
            detach(id, DownloadError(.cancelled), keepingBytes: true, &state, &effects)
        }
        return state.cancellation(of: id)
    }

    func replaceURL(with fresh: FreshURL) throws(DownloadError) {
        throw DownloadError(.unsupported, "the URL of a download in a background session cannot be replaced")
    }

    func status(of id: SubscriberID) -> SubscriberStatus { update { state, _ in state.status(of: id) } }

    func policies(of id: SubscriberID) -> ResolvedPolicies? {
        update { state, _ in state.subscribers[id]?.policies }
    }

    func updatePolicies(of id: SubscriberID, _ change: (inout ResolvedPolicies) -> Void) {
        let isChanged = update { state, _ in state.subscribers.updatePolicies(of: id, change) }
        if isChanged { session.networkAccessChanged(self) }
    }

    func newWaiter() -> WaiterID { update { state, _ in state.subscribers.newWaiter() } }

    func wait(
        _ waiter: WaiterID, of id: SubscriberID, resume: @escaping @Sendable (Subscriber.Outcome) -> Void
    ) -> WaitAnswer {
        update { state, effects in
            state.subscribers.wait(waiter, of: id, resume: resume)
                ?? .now(.failure(detachIfUnread(id, &state, &effects)))
        }
    }

    func cancelWait(_ waiter: WaiterID, of id: SubscriberID) {
        update { state, effects in
            let waiting = state.subscribers.update(id) { $0.waiters.remove(waiter) }
            guard let resume = waiting ?? nil else { return }
            let error = detachIfUnread(id, &state, &effects)
            effects.append(DeferredEffect { resume(.failure(error)) })
        }
    }

    func acknowledge(_ id: SubscriberID) {
        guard let (record, delivery, download) = update({ state, _ in state.takeUnacknowledged(id) }) else { return }
        session.submit { worker in worker.withCore { $0.acknowledge(delivery, of: record, by: download) } }
    }

    func openStream(_ id: SubscriberID, _ stream: EventStream) -> StreamID {
        update { state, effects in
            let current = state
            return state.subscribers.openStream(stream, of: id, &effects) { subscriber in
                current.presentation(isPaused: subscriber.isPaused, outcome: subscriber.outcome)
            }
        }
    }

    func closeStream(_ id: SubscriberID, stream: StreamID, isCancellation: Bool) -> DownloadError {
        update { state, effects in
            let wasOpen = state.subscribers.update(id) { $0.closeStream(stream) } ?? false
            return wasOpen && isCancellation ? detachIfUnread(id, &state, &effects) : state.cancellation(of: id)
        }
    }

    func addObserver(_ id: SubscriberID, _ observer: @escaping @Sendable () -> Void) -> ObserverID {
        update { state, _ in state.subscribers.addObserver(of: id, observer) }
    }

    func removeObserver(_ observer: ObserverID, of id: SubscriberID) {
        update { state, _ in _ = state.subscribers.update(id) { $0.removeObserver(observer) } }
    }
}
