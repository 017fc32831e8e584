/// The inputs from subscribers. A subscriber is identified by the number that it received when it was attached.
extension Transfer {
    /// A subscriber that has been attached, and the effects to perform when no lock is held.
    struct Attachment: Sendable {
        let id: SubscriberID
        let performEffects: @Sendable () -> Void
    }

    /// Attaches a subscriber, or returns nil if the transfer can no longer serve a new one.
    ///
    /// This method is called under the registry's lock; `performEffects` of the result must be called after the lock is
    /// released.
    ///
    /// - Parameters:
    ///   - reservedPath: The path that was reserved for the subscriber's file. The transfer releases it from now on.
    ///   - isRunning: Whether the subscriber wants the transfer to run. If not, it starts paused.
    ///   - isSuperseding: Whether earlier subscribers end with ``DownloadError/Code/superseded``.
    func attach(
        _ request: DownloadRequest, _ terms: SubscriberTerms, reservedPath: String? = nil, isRunning: Bool = true,
        isSuperseding: Bool = false
    ) -> Attachment? {
        let now = environment.time.now
        return decideLater { state, decision -> SubscriberID? in
            guard state.isJoinable else { return nil }
            if isSuperseding {
                for (id, _) in state.subscribers.active {
                    _ = end(id, DownloadError(.superseded), keepingBytes: true, &state, &decision)
                }
            }
            let isJoining = state.machine.phase != .ready
            let id = state.subscribers.add(request, terms, isPaused: !isRunning, at: now)
            _ = state.subscribers.update(id) { $0.reservedPath = reservedPath }
            demandsChanged(&state, &decision)
            if isJoining, let address = address(of: request, at: now) { state.machine.offer(address) }
            if !isJoining, let expiration = request.urlExpiration {
                state.machine.setExpiration(at: now + environment.time.date.duration(to: expiration))
            }
            moveToDiskIfWanted(&state, &decision)
            if isJoining {
                // Events that earlier subscribers have already received, and on which later events depend.
                for event in state.machine.present(isPaused: !isRunning, outcome: nil) {
                    _ = state.subscribers.update(id) { $0.emit(event) }
                }
            }
            if isRunning {
                decision.effects += state.emitCanceledPause()
                decision.actions += state.machine.run(at: now)
                if terms.deadline != nil {
                    decision.effects.append(DeferredEffect { [self] in watchDeadline(of: id) })
                }
            } else if state.subscribers.arePaused, state.machine.intent == .abandon || state.machine.intent == .run {
                // The transfer was being abandoned and is needed again, or no subscriber needs it to run.
                decision.actions += state.machine.stop(.pause, at: now)
            }
            endOversized(&state, &decision, at: now)
            return id
        }
    }

    /// Whether a new subscriber may still get this transfer's file.
    var isJoinable: Bool { withState(\.isJoinable) }

    /// Passes on the combined demands of the subscribers after one was attached or detached.
    private func demandsChanged(_ state: inout State, _ decision: inout Decision) {
        state.machine.setDemands(state.subscribers.demands(after: state.machine.demands))
        guard !state.subscribers.isEmpty, let ticket = state.permit.ticket else { return }
        let priority = state.subscribers.priority
        guard priority != state.permit.priority else { return }
        state.permit.priority = priority
        decision.effects.append(DeferredEffect { [self] in updatePriority(of: ticket) })
    }

    /// Passes the priority to the scheduler until it has the current one, which other threads may change.
    func updatePriority(of ticket: PermitQueue.Ticket) {
        var known: DownloadRequest.Priority?
        while let priority = withState({ $0.permit.ticket == ticket ? $0.permit.priority : nil }), priority != known {
            environment.scheduler.setPriority(priority, of: ticket)
            known = priority
        }
    }

    /// Ends the subscribers that accept fewer bytes than the file has, if others accept more.
    func endOversized(_ state: inout State, _ decision: inout Decision, at now: Duration) {
        let count = state.machine.bytes.representation?.length ?? state.machine.bytes.intervals.upperBound
        for (id, limit) in state.subscribers.oversized(count) {
            let error = DownloadError(.bodyTooLarge, "\(count) bytes or more, \(limit) allowed")
            leave(id, error, &state, &decision, at: now)
        }
    }

    /// Detaches a subscriber with `error` as its outcome; if it was the last one, the abandonment policy applies.
    func detach(_ id: SubscriberID, _ error: DownloadError, keepingBytes: Bool = true) {
        let now = environment.time.now
        update { state, decision in
            leave(id, error, keepingBytes: keepingBytes, &state, &decision, at: now)
        }
    }

    /// Detaches a subscriber, as part of another input.
    ///
    /// - Parameter policy: The policy that applies if no subscriber remains; nil for the downloader's.
    func leave(
        _ id: SubscriberID, _ error: DownloadError, keepingBytes: Bool = true, policy: AbandonmentPolicy? = nil,
        _ state: inout State, _ decision: inout Decision, at now: Duration
    ) {
        let policy = policy ?? environment.abandonment
        let isLast = state.subscribers.activeCount == 1
        let keepingBytes = keepingBytes && !(isLast && policy == .discard)
        let continuesAlone = isLast && keepingBytes && policy == .finish && state.machine.intent == .run
        guard end(id, error, keepingBytes: keepingBytes, keepingPath: continuesAlone, &state, &decision) else {
            return
        }
        if !isLast {
            demandsChanged(&state, &decision)
            if state.subscribers.arePaused { decision.actions += state.machine.stop(.pause, at: now) }
        } else if !keepingBytes {
            decision.actions += state.machine.stop(.discard, at: now)
        } else if !continuesAlone {
            decision.actions += state.machine.stop(.abandon, at: now)
        }
    }

    /// Ends a subscriber with an error unless it has an outcome, and releases its destination.
    ///
    /// - Returns: Whether the subscriber had no outcome.
    private func end(
        _ id: SubscriberID, _ error: DownloadError, keepingBytes: Bool, keepingPath: Bool = false, _ state: inout State,
        _ decision: inout Decision
    ) -> Bool {
        // After the end of the transfer, no subscriber can be detached any more: its outcome is about to be emitted.
        guard state.machine.phase != .ended, let subscriber = state.subscribers.all[id], subscriber.outcome == nil
        else { return false }
        var error = error
        error.url = subscriber.request.url
        error.retainedByteCount = keepingBytes ? state.machine.bytes.count : 0
        if let path = state.subscribers.update(id, { $0.takeReservedPath() }) ?? nil {
            if keepingPath {
                state.heldPaths.append(HeldPath(path: path, isClosing: false))
            } else if state.machine.phase == .finishing {
                // The file may be placed there right now.
                state.heldPaths.append(HeldPath(path: path, isClosing: true))
                environment.destinations.close(path, for: key)
            } else {
                environment.destinations.release(path, for: key, wasClosing: false)
            }
        }
        decision.effects += state.subscribers.end(id, .failure(error))
        return true
    }

    /// Releases the paths of all subscribers, when nothing can be placed any more.
    func releasePaths() {
        let (held, reserved) = update { state, _ in
            defer { state.heldPaths = [] }
            return (state.heldPaths, state.subscribers.takeReservedPaths())
        }
        for held in held {
            environment.destinations.release(held.path, for: key, wasClosing: held.isClosing)
        }
        for path in reserved { environment.destinations.release(path, for: key, wasClosing: false) }
    }

    /// Releases the paths of subscribers that were detached while the file was placed.
    ///
    /// This is done between two rounds of the delivery, because another transfer may wait for one of these paths while
    /// this transfer waits for one of its paths.
    func releaseClosingPaths(_ state: inout State, except kept: String?) {
        for held in state.heldPaths where held.isClosing && held.path != kept {
            environment.destinations.release(held.path, for: key, wasClosing: true)
        }
        state.heldPaths.removeAll { $0.isClosing && $0.path != kept }
    }

    /// Ends the subscribers whose destination is `path` if no one can resume them.
    ///
    /// This method is called under the registry's lock; the returned closure must be called after the lock is released.
    ///
    /// - Returns: The effects to perform, or nil if the path is still in use.
    func evictUnreachable(from path: String) -> (@Sendable () -> Void)? {
        let now = environment.time.now
        return decideLater { state, decision -> SubscriberID? in
            let holders = state.subscribers.active.filter { $0.subscriber.reservedPath == path }
            guard !holders.isEmpty, state.heldPaths.allSatisfy({ $0.path != path }),
                holders.allSatisfy({ $0.subscriber.isUnreachable })
            else { return nil }
            for (id, _) in holders { leave(id, DownloadError(.cancelled), &state, &decision, at: now) }
            return holders.first?.id
        }?.performEffects
    }

    /// Pauses a subscriber; the transfer stops if no other subscriber wants it to run.
    func pause(_ id: SubscriberID) {
        let now = environment.time.now
        update { state, decision in
            guard state.subscribers.setPaused(true, id, at: now) else { return }
            if let timer = state.subscribers.update(id, { $0.takeDeadlineTimer() }) ?? nil {
                decision.effects.append(DeferredEffect { timer.cancel() })
            }
            if state.subscribers.arePaused {
                decision.actions += state.machine.stop(.pause, at: now)
            } else {
                let event = DownloadEvent.paused(receivedByteCount: state.machine.bytes.count)
                decision.effects += state.subscribers.update(id) { $0.emit(event) } ?? []
            }
        }
    }

    /// Resumes a subscriber.
    func resume(_ id: SubscriberID) {
        let now = environment.time.now
        update { state, decision in
            guard state.subscribers.setPaused(false, id, at: now) else { return }
            if state.subscribers.all[id]?.deadline != nil {
                decision.effects.append(DeferredEffect { [self] in watchDeadline(of: id) })
            }
            if state.machine.intent == .run {
                let event = DownloadEvent.resumed(fromOffset: state.machine.bytes.intervals.prefixEnd)
                decision.effects += state.subscribers.update(id) { $0.emit(event) } ?? []
            } else {
                decision.effects += state.emitCanceledPause()
                decision.actions += state.machine.run(at: now)
            }
        }
    }

    /// Calls `body` with the number of each active subscriber.
    func forEachSubscriber(_ body: (SubscriberID) -> Void) {
        for id in withState({ $0.subscribers.active.map(\.id) }) { body(id) }
    }

    /// Ends every subscriber with `error` and stops with all bytes kept, regardless of the ``AbandonmentPolicy``.
    func shutDown(_ error: DownloadError) {
        let now = environment.time.now
        update { state, decision in
            for (id, _) in state.subscribers.active {
                _ = end(id, error, keepingBytes: true, &state, &decision)
            }
            decision.actions += state.machine.stop(.abandon, at: now)
        }
    }

    /// Restores the unfinished download of an earlier process as paused.
    func revive(_ unfinished: UnfinishedPartial) {
        update { state, _ in state.machine.restore(unfinished) }
    }
}

extension Transfer.State {
    /// Whether a new subscriber can still receive this transfer's file.
    var isJoinable: Bool { !isServed && machine.isJoinable }

    /// Emits a pause to the paused subscribers if the pause of all subscribers is canceled before it is complete.
    fileprivate mutating func emitCanceledPause() -> [DeferredEffect] {
        guard machine.intent == .pause, machine.phase != .paused else { return [] }
        return subscribers.emitToPaused(.paused(receivedByteCount: machine.bytes.count))
    }
}
