/// The consumers of a subscriber: tasks that await its outcome or read its events.
extension ActiveTransfer {
    /// Creates the identifier of a consumer that awaits an outcome.
    func newWaiter() -> WaiterID {
        updateQuietly { $0.subscribers.newWaiter() }
    }

    /// Adds a consumer that awaits the outcome.
    func wait(
        _ waiter: WaiterID, of id: SubscriberID, resume: @escaping @Sendable (SubscriberSet.Outcome) -> Void
    ) -> WaitAnswer {
        update { state, decision in
            state.subscribers.wait(waiter, of: id, resume: resume)
                ?? .now(.failure(detachIfUnread(id, &state, &decision)))
        }
    }

    /// Removes a consumer whose task was canceled, and detaches the subscriber unless it has other consumers.
    func cancelWait(_ waiter: WaiterID, of id: SubscriberID) {
        update { state, decision in
            let waiting = state.subscribers.update(id) { $0.waiters.remove(waiter) }
            guard let resume = waiting ?? nil else { return }
            let error = detachIfUnread(id, &state, &decision)
            decision.effects.append(DeferredEffect { resume(.failure(error)) })
        }
    }

    /// Detaches a subscriber if its last consumer was canceled, and returns the error for that consumer.
    private func detachIfUnread(
        _ id: SubscriberID, _ state: inout State, _ decision: inout Decision
    ) -> DownloadError {
        if state.subscribers[id]?.hasConsumers == false {
            let now = environment.time.now
            detach(id, .failure(DownloadError(.cancelled)), &state, &decision, at: now)
        }
        return state.cancellation(of: id)
    }
}

extension ActiveTransfer.State {
    /// Returns the error for a consumer whose task was canceled.
    func cancellation(of id: SubscriberID) -> DownloadError {
        if case .failure(let error)? = subscribers[id]?.outcome, error.code == .cancelled { return error }
        return DownloadError(.cancelled, retainedByteCount: machine.bytes.count)
    }
}

extension ActiveTransfer {
    /// Opens a stream, and returns its identifier.
    func openStream(_ id: SubscriberID, _ stream: EventStream) -> StreamID {
        update { state, decision in
            let machine = state.machine
            let reason = waitingReason(state)
            return state.subscribers.openStream(stream, of: id, &decision.effects) { subscriber in
                machine.present(isPaused: subscriber.isPaused, outcome: subscriber.outcome, waiting: reason)
            }
        }
    }

    /// Closes a stream that is no longer read.
    ///
    /// - Parameter isCancellation: Whether the reading task was canceled. If so, the subscriber is detached unless it
    ///   has other consumers.
    /// - Returns: The error for the reader.
    func closeStream(_ id: SubscriberID, stream: StreamID, isCancellation: Bool) -> DownloadError {
        update { state, decision in
            let wasOpen = state.subscribers.update(id) { $0.closeStream(stream) } ?? false
            return wasOpen && isCancellation ? detachIfUnread(id, &state, &decision) : state.cancellation(of: id)
        }
    }

    /// Adds an observer, which is called after each change of the subscriber's status until it is removed.
    func addObserver(_ id: SubscriberID, _ observer: @escaping @Sendable () -> Void) -> ObserverID {
        updateQuietly { $0.subscribers.addObserver(of: id, observer) }
    }

    /// Removes an observer.
    func removeObserver(_ observer: ObserverID, of id: SubscriberID) {
        updateQuietly { _ = $0.subscribers.update(id) { $0.removeObserver(observer) } }
    }
}

extension TransferStateMachine {
    /// Returns the first events of a stream that is opened after the start of the download.
    ///
    /// - Parameter reason: The reason why the transfer is waiting for its permit; nil if it is only queued.
    func present(
        isPaused: Bool, outcome: SubscriberSet.Outcome?, waiting reason: WaitingReason? = nil
    ) -> [DownloadEvent] {
        switch outcome {
        case .success(let file): return [.finished(file)]
        case .failure: return []
        case nil: break
        }
        // A pause in progress is emitted when the bytes are on disk. A pause of one subscriber takes effect immediately
        // while others run.
        if phase == .paused || isPaused && intent == .run { return [.paused(receivedByteCount: bytes.count)] }
        if let hindrance = awaitedNetwork { return [.waiting(reason: hindrance.waitingReason)] }
        switch phase {
        case .finishing: return [.verifying]
        case .ready, .waiting: return [.waiting(reason: reason ?? .turn)]
        default:
            guard meter.hasEmittedStart else { return [.progress(progress)] }
            return [started, .progress(progress)]
        }
    }
}

/// The handles of subscribers, and the release of memory while a transfer is paused.
extension ActiveTransfer {
    /// Adds a handle to each subscriber without an outcome whose request is accepted by `isIncluded`.
    func addHandles(where isIncluded: (DownloadID, DownloadRequest) -> Bool) -> [AddedHandle] {
        updateQuietly { $0.subscribers.addHandles(where: isIncluded) }
    }

    /// Records that a handle of the subscriber was released.
    func handleReleased(_ id: SubscriberID) {
        update { state, _ in _ = state.subscribers.update(id) { $0.handleCount -= 1 } }
    }

    /// Informs the subscribers of a paused transfer that its bytes are no longer in memory.
    func emitReleased(_ release: PartialBodyStore.Release) {
        update { state, decision in
            let event = DownloadEvent.released(byteCount: Int64(release.byteCount), isOnDisk: release.isOnDisk)
            decision.effects += state.subscribers.emit(event)
        }
    }

    /// Ends a paused transfer that nothing can resume.
    ///
    /// - Parameter discarding: Whether to delete the transfer's bytes on disk, even if the transfer can be resumed.
    ///
    /// - Returns: Whether the transfer has ended.
    func releaseIfPaused(discarding: Bool) -> Bool {
        let now = environment.time.now
        return update { state, decision in
            guard state.machine.phase == .paused else { return false }
            let isOver = !state.subscribers.active.contains { $0.subscriber.isHeld || $0.subscriber.hasConsumers }
            if isOver {
                decision.actions += state.machine.stop(discarding ? .discard : .abandon, at: now)
            } else if discarding {
                decision.actions += state.machine.purge(at: now)
            }
            return isOver
        }
    }
}
