/// The inputs from handles, and from the tasks that read their events or await their outcome.
extension BackgroundTransfer: SubscribedTransfer {
    func addHandles(where isIncluded: (DownloadRequest) -> Bool) -> [AddedHandle] {
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
        if isChanged { session.demandChanged(self) }
    }

    func detach(_ id: SubscriberID, _ error: DownloadError, keepingBytes: Bool) {
        let isEnded = update { state, effects in
            guard let subscriber = state.subscribers[id], subscriber.outcome == nil else { return false }
            var error = error
            error.url = subscriber.request.url
            error.retainedByteCount = keepingBytes ? state.progress.receivedByteCount : 0
            effects += state.subscribers.end(id, .failure(error))
            return true
        }
        if isEnded { session.left(self, id, keepingBytes: keepingBytes) }
    }

    func replaceURL(with fresh: FreshURL) throws(DownloadError) {
        throw DownloadError(.unsupported, "the URL of a download in a background session cannot be replaced")
    }

    func publicState(of id: SubscriberID) -> DownloadState { update { state, _ in state.publicState(of: id) } }

    var currentProgress: DownloadProgress { update { state, _ in state.progress } }

    func outcome(of id: SubscriberID) async -> Subscriber.Outcome {
        let waiter = update { state, _ in state.subscribers.newWaiter() }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let ready = update { state, _ -> Subscriber.Outcome? in
                    // If the task is canceled already, its cancellation handler was called and found no waiter.
                    if let outcome = state.subscribers[id]?.outcome { return outcome }
                    if Task.isCancelled { return .failure(DownloadError(.cancelled)) }
                    _ = state.subscribers.update(id) {
                        $0.waiters.insert({ continuation.resume(returning: $0) }, id: waiter)
                    }
                    return nil
                }
                if let ready {
                    if Task.isCancelled { detachIfUnread(id) }
                    continuation.resume(returning: ready)
                }
            }
        } onCancel: {
            let waiting = update { state, _ in
                state.subscribers.update(id) { $0.waiters.remove(waiter) } ?? nil
            }
            guard let waiting else { return }
            detachIfUnread(id)
            waiting(.failure(DownloadError(.cancelled)))
        }
    }

    /// Detaches a subscriber whose last consumer was canceled.
    private func detachIfUnread(_ id: SubscriberID) {
        let hasConsumers = update { state, _ in state.subscribers[id]?.hasConsumers ?? true }
        if !hasConsumers { detach(id, DownloadError(.cancelled), keepingBytes: true) }
    }

    func whenEnded(_ id: SubscriberID, _ body: @escaping @Sendable (Subscriber.Outcome) -> Void) {
        let outcome = update { state, _ -> Subscriber.Outcome? in
            if let outcome = state.subscribers[id]?.outcome { return outcome }
            let waiter = state.subscribers.newWaiter()
            _ = state.subscribers.update(id) { $0.waiters.insert(body, id: waiter) }
            return nil
        }
        if let outcome { body(outcome) }
    }

    func openStream(_ id: SubscriberID, isObserver: Bool) -> StreamID {
        update { state, effects in
            let current = state
            return state.subscribers.openStream(of: id, isObserver: isObserver, &effects) { subscriber in
                current.presentation(isPaused: subscriber.isPaused, outcome: subscriber.outcome)
            }
        }
    }

    func nextEvent(_ id: SubscriberID, stream: StreamID) async throws(DownloadError) -> DownloadEvent? {
        let delivery: EventBuffer.Delivery = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let ready = update { state, effects -> EventBuffer.Delivery? in
                    if Task.isCancelled { return .failure(DownloadError(.cancelled)) }
                    return state.subscribers.nextDelivery(of: id, stream, continuation, &effects)
                }
                if let ready { continuation.resume(returning: ready) }
            }
        } onCancel: {
            closeStream(id, stream: stream, cancelled: true)
        }
        return try delivery.get()
    }

    func closeStream(_ id: SubscriberID, stream: StreamID, cancelled: Bool) {
        let buffer = update { state, _ in state.subscribers.update(id) { $0.buffers.remove(stream) } ?? nil
        }
        guard var buffer else { return }
        if cancelled, !buffer.isObserver { detachIfUnread(id) }
        for effect in buffer.finish(DownloadError(.cancelled)) { effect() }
    }
}
