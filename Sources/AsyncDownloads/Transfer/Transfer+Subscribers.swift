/// What subscribers do to a transfer. Each is known by the id that it got when it attached.
extension Transfer {
    /// A subscriber that has attached, and what is to be done about it once no lock is held.
    struct Attachment: Sendable {
        let id: SubscriberID
        let performEffects: @Sendable () -> Void
    }

    /// Attaches a subscriber, or returns nil when the transfer can no longer serve anyone new.
    ///
    /// Called under the registry's lock; `settle` of what is returned must be called after it is released.
    ///
    /// - Parameters:
    ///   - reservedPath: The path that was reserved for the subscriber's file; from now on the transfer releases it.
    ///   - isRunning: Whether the subscriber wants the transfer to run; one that does not begins paused.
    ///   - isSuperseding: Whether the subscribers before it end with ``DownloadError/Code/superseded``.
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
            leaveMemoryIfWanted(&state, &decision)
            if isJoining {
                // What those before it have heard already and it needs to make sense of the rest.
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
                // The transfer was about to go and is wanted again, or runs for nobody else.
                decision.actions += state.machine.stop(.pause, at: now)
            }
            endOversized(&state, &decision, at: now)
            return id
        }
    }

    /// Whether a new subscriber may still get this transfer's file.
    var isJoinable: Bool { withState(\.isJoinable) }

    /// Passes on what the subscribers demand together, after one has come or gone.
    private func demandsChanged(_ state: inout State, _ decision: inout Decision) {
        state.machine.setDemands(state.subscribers.demands(after: state.machine.demands))
        guard !state.subscribers.isEmpty, let ticket = state.permit.ticket else { return }
        let priority = state.subscribers.priority
        guard priority != state.permit.priority else { return }
        state.permit.priority = priority
        decision.effects.append(DeferredEffect { [self] in updatePriority(of: ticket) })
    }

    /// Tells the scheduler the priority until it knows the present one, whatever other threads have told it meanwhile.
    func updatePriority(of ticket: PermitQueue.Ticket) {
        var told: DownloadRequest.Priority?
        while let priority = withState({ $0.permit.ticket == ticket ? $0.permit.priority : nil }), priority != told {
            environment.scheduler.setPriority(priority, of: ticket)
            told = priority
        }
    }

    /// Ends it for those who accept fewer bytes than there are, where others accept more.
    func endOversized(_ state: inout State, _ decision: inout Decision, at now: Duration) {
        let count = state.machine.bytes.representation?.length ?? state.machine.bytes.intervals.upperBound
        for (id, limit) in state.subscribers.oversized(count) {
            let error = DownloadError(.bodyTooLarge, "\(count) bytes or more, \(limit) allowed")
            leave(id, error, &state, &decision, at: now)
        }
    }

    /// Detaches a subscriber: its outcome is `error`, and the transfer stops when nobody else is there.
    func detach(_ id: SubscriberID, _ error: DownloadError, keepingBytes: Bool = true) {
        let now = environment.time.now
        update { state, decision in
            leave(id, error, keepingBytes: keepingBytes, &state, &decision, at: now)
        }
    }

    /// - Parameter policy: What becomes of the transfer when nobody is left; nil for the downloader's.
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

    /// Gives one subscriber its error, if it has no outcome yet, and frees its destination.
    private func end(
        _ id: SubscriberID, _ error: DownloadError, keepingBytes: Bool, keepingPath: Bool = false, _ state: inout State,
        _ decision: inout Decision
    ) -> Bool {
        // Once it has ended, nobody can leave it any more: its end is about to be told.
        guard state.machine.phase != .ended, let subscriber = state.subscribers.all[id], subscriber.outcome == nil
        else { return false }
        var error = error
        error.url = subscriber.request.url
        error.retainedByteCount = keepingBytes ? state.machine.bytes.count : 0
        if let path = state.subscribers.update(id, { $0.takeReservedPath() }) ?? nil {
            if keepingPath {
                state.heldPaths.append(HeldPath(path: path, isClosing: false))
            } else if state.machine.phase == .finishing {
                // The file may be placed there at this moment.
                state.heldPaths.append(HeldPath(path: path, isClosing: true))
                environment.destinations.close(path, for: key)
            } else {
                environment.destinations.release(path, for: key, wasClosing: false)
            }
        }
        decision.effects += state.subscribers.end(id, .failure(error))
        return true
    }

    /// Frees the paths of all subscribers, when nothing is placed any more.
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

    /// Frees the paths of subscribers that left while the file was placed, between two rounds of the delivery.
    ///
    /// Another transfer may wait for one of them while this one waits for a path of that transfer.
    func releaseClosingPaths(_ state: inout State, except kept: String?) {
        for held in state.heldPaths where held.isClosing && held.path != kept {
            environment.destinations.release(held.path, for: key, wasClosing: true)
        }
        state.heldPaths.removeAll { $0.isClosing && $0.path != kept }
    }

    /// Ends the subscribers whose destination is `path` if nobody can resume them any more; true if that frees it.
    ///
    /// Called under the registry's lock; what is returned must be called after it is released.
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

    /// Pauses for this subscriber; the transfer stops when nobody else wants it to run.
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

    /// Resumes for this subscriber.
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

    /// Pauses or resumes for every subscriber at once.
    func forEachSubscriber(_ body: (SubscriberID) -> Void) {
        for id in withState({ $0.subscribers.active.map(\.id) }) { body(id) }
    }

    /// Ends every subscriber with `error` and stops with all bytes kept, whatever the ``AbandonmentPolicy`` says.
    func shutDown(_ error: DownloadError) {
        let now = environment.time.now
        update { state, decision in
            for (id, _) in state.subscribers.active {
                _ = end(id, error, keepingBytes: true, &state, &decision)
            }
            decision.actions += state.machine.stop(.abandon, at: now)
        }
    }

    /// Registers what an earlier process left as paused.
    func revive(_ unfinished: UnfinishedPartial) {
        update { state, _ in state.machine.restore(unfinished) }
    }
}

extension Transfer.State {
    /// Whether a new subscriber may still get this transfer's file.
    var isJoinable: Bool { !isServed && machine.isJoinable }

    /// Tells those who stay paused of a pause of all that somebody takes back before it is there: it is theirs alone now.
    fileprivate mutating func emitCanceledPause() -> [DeferredEffect] {
        guard machine.intent == .pause, machine.phase != .paused else { return [] }
        return subscribers.emitToPaused(.paused(receivedByteCount: machine.bytes.count))
    }
}
