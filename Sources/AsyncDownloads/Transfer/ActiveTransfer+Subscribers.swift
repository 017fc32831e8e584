/// The inputs from subscribers, which are identified by the numbers that they received when they were attached.
extension ActiveTransfer {
    /// Attaches a subscriber, or returns nil if the transfer can no longer serve a new one; see
    /// ``TransferSlot/attach(_:_:_:reservedPath:isRunning:isSuperseding:)``.
    func attach(
        _ downloadID: DownloadID, _ request: DownloadRequest, _ policies: ResolvedPolicies, reservedPath: String?,
        isRunning: Bool,
        isSuperseding: Bool
    ) -> Attachment? {
        let now = environment.time.now
        return decideLater { state, decision -> SubscriberID? in
            guard state.isJoinable else { return nil }
            if isSuperseding {
                for id in state.subscribers.activeIDs {
                    _ = end(id, .failure(DownloadError(.superseded)), keepingBytes: true, &state, &decision)
                }
            }
            // A restored transfer has a state and no subscriber.
            let isJoining = state.machine.phase != .ready
            let id = state.subscribers.add(downloadID, request, policies, isPaused: !isRunning, at: now)
            _ = state.subscribers.update(id) { subscriber in
                subscriber.reservedPath = reservedPath
                subscriber.isCoalesced = id != .first
            }
            if id == .first {
                state.attachedFirst(request, environment)
            } else {
                policiesChanged(&state, &decision)
                if let address = address(of: request, at: now) { state.machine.offer(address) }
            }
            if state.storage.isInMemory { moveToDiskIfWanted(&state, &decision) }
            if isJoining, request.destination.choosesName {
                decision.effects.append(DeferredEffect { [self] in queue.async { self.recordFormerFiles() } })
            }
            if isJoining {
                // The joining subscriber receives earlier events on which later events depend.
                for event in state.machine.present(isPaused: !isRunning, outcome: nil) {
                    _ = state.subscribers.update(id) { $0.emit(event) }
                }
            }
            if isRunning {
                decision.effects += state.emitCanceledPause()
                decision.actions += state.machine.run(at: now)
                if policies.deadline != nil {
                    decision.effects.append(DeferredEffect { [self] in watchDeadline(of: id) })
                }
            } else if state.subscribers.arePaused, state.machine.intent == .abandon || state.machine.intent == .run {
                // The transfer was being abandoned and is needed again, or no subscriber needs it to run.
                decision.actions += state.machine.stop(.pause, at: now)
            }
            endOversized(&state, &decision, at: now)
            endUnlessWaiting(&state, &decision)
            if isJoining {
                proposeAccepted(to: id, request, &state, &decision)
                decision.effects.append(DeferredEffect { [self] in proposeFollowedRedirects(to: id, request) })
            }
            return id
        }
    }

    /// Whether a new subscriber can still receive this transfer's file.
    var isJoinable: Bool { withState(\.isJoinable) }

    /// Passes the subscribers' combined policies on after a subscriber was attached, changed, or detached.
    func policiesChanged(_ state: inout State, _ decision: inout Decision) {
        if let policies = state.subscribers.combinedPolicies { state.machine.setPolicies(policies) }
        decision.actions += state.machine.networkChanged(at: now)
        updatePriority(&state, &decision)
    }

    /// Returns the policies of a subscriber; nil after its end.
    func policies(of id: SubscriberID) -> ResolvedPolicies? { withState { $0.subscribers[id]?.policies } }

    /// Changes the policies of a subscriber, unless it has its outcome.
    func updatePolicies(of id: SubscriberID, _ change: (inout ResolvedPolicies) -> Void) {
        update { state, decision in
            guard state.subscribers.updatePolicies(of: id, change) else { return }
            policiesChanged(&state, &decision)
            endUnlessWaiting(&state, &decision)
        }
    }

    /// Ends the subscribers that accept fewer bytes than the file has, if other subscribers accept more.
    func endOversized(_ state: inout State, _ decision: inout Decision, at now: Duration) {
        let count = state.machine.bytes.representation?.length ?? state.machine.bytes.intervals.upperBound
        for (id, error) in state.subscribers.oversized(count) {
            detach(id, .failure(error), &state, &decision, at: now)
        }
    }

    /// Detaches a subscriber with `error` as its outcome; if it was the last one, the abandonment policy applies.
    ///
    /// - Returns: Whether the subscriber had no outcome.
    func detach(_ id: SubscriberID, _ error: DownloadError, keepingBytes: Bool) -> Bool {
        let now = environment.time.now
        return update { state, decision in
            detach(id, .failure(error), keepingBytes: keepingBytes, &state, &decision, at: now)
        }
    }

    /// Detaches a subscriber, as part of another input.
    ///
    /// - Parameter policy: The policy that applies if no subscriber remains; nil for the downloader's policy.
    /// - Returns: Whether the subscriber had no outcome.
    @discardableResult
    func detach(
        _ id: SubscriberID, _ outcome: Subscriber.Outcome, keepingBytes: Bool = true,
        policy: AbandonmentPolicy? = nil, _ state: inout State, _ decision: inout Decision, at now: Duration
    ) -> Bool {
        let policy = policy ?? environment.abandonment
        let isLast = state.subscribers.activeCount == 1
        let keepingBytes = keepingBytes && !(isLast && policy == .discard)
        // Metadata has no recipient without its subscriber, and neither has a response that the last subscriber has not
        // accepted.
        let continuesAlone =
            isLast && keepingBytes && policy == .finish && state.machine.intent == .run
            && state.subscribers[id]?.request.purpose == .download && !state.acceptance.isPending(id)
        guard end(id, outcome, keepingBytes: keepingBytes, keepingPath: continuesAlone, &state, &decision) else {
            return false
        }
        if !isLast {
            policiesChanged(&state, &decision)
            if state.subscribers.arePaused { decision.actions += state.machine.stop(.pause, at: now) }
        } else if !keepingBytes {
            decision.actions += state.machine.stop(.discard, at: now)
        } else if !continuesAlone {
            decision.actions += state.machine.stop(.abandon, at: now)
        }
        return true
    }

    /// Ends a subscriber unless it has an outcome, and releases its destination.
    ///
    /// - Returns: Whether the subscriber had no outcome.
    private func end(
        _ id: SubscriberID, _ outcome: Subscriber.Outcome, keepingBytes: Bool, keepingPath: Bool = false,
        _ state: inout State, _ decision: inout Decision
    ) -> Bool {
        // After the end of the transfer, its subscribers can't be detached anymore: their outcomes are about to be
        // emitted.
        guard state.machine.phase != .ended, let subscriber = state.subscribers[id], subscriber.outcome == nil
        else { return false }
        let outcome = outcome.mapError { error in
            var error = error
            error.url = subscriber.request.url
            error.retainedByteCount = keepingBytes ? state.machine.bytes.count : 0
            return error
        }
        if let path = state.subscribers.update(id, { $0.takeReservedPath() }) ?? nil {
            if keepingPath {
                state.delivery.hold(path, isClosing: false)
            } else if state.machine.phase == .finishing {
                // The file may be being placed there.
                state.delivery.hold(path, isClosing: true)
                environment.destinations.close(path, for: keyDigest)
            } else {
                environment.destinations.release(path, for: keyDigest, wasClosing: false)
            }
        }
        decision.effects += state.subscribers.end(id, outcome, at: state.machine.progress)
        stopAsking(id, &state, &decision)
        return true
    }

    /// Releases the paths of all subscribers when nothing can be placed anymore.
    func releasePaths() {
        let (held, reserved) = update { state, _ in
            (state.delivery.takeHeld(), state.subscribers.takeReservedPaths())
        }
        for held in held {
            environment.destinations.release(held.path, for: keyDigest, wasClosing: held.isClosing)
        }
        for path in reserved { environment.destinations.release(path, for: keyDigest, wasClosing: false) }
    }

    /// Releases the paths of subscribers that were detached while the file was placed.
    ///
    /// This is done between two rounds of the delivery, because another transfer may be waiting for one of these paths
    /// while this transfer waits for one of the other's paths.
    func releaseClosingPaths(_ state: inout State, except kept: String?) {
        for path in state.delivery.takeClosing(except: kept) {
            environment.destinations.release(path, for: keyDigest, wasClosing: true)
        }
    }

    /// Ends the subscribers whose destination is `path` if nothing can resume them.
    ///
    /// This method is called under the registry's lock; the returned closure must be called after the lock is released.
    ///
    /// - Returns: The effects to perform, or nil if the path is still in use.
    func evictUnreachable(from path: String) -> (@Sendable () -> Void)? {
        let now = environment.time.now
        return decideLater { state, decision -> SubscriberID? in
            // Paths are compared by bytes, because two files may have canonically equivalent names.
            let holders = state.subscribers.active.filter {
                $0.subscriber.reservedPath?.hasSameBytes(as: path) == true
            }
            guard !holders.isEmpty, !state.delivery.holds(path),
                holders.allSatisfy({ $0.subscriber.isUnreachable })
            else { return nil }
            for (id, _) in holders { detach(id, .failure(DownloadError(.cancelled)), &state, &decision, at: now) }
            return holders.first?.id
        }?.performEffects
    }

    /// Pauses a subscriber; the transfer stops if no other subscriber wants it to run.
    func pause(_ id: SubscriberID) {
        let now = environment.time.now
        update { state, decision in
            guard state.subscribers.setPaused(true, id, at: now) else { return }
            // The other subscribers can't use a network that only the paused subscriber permits.
            if !state.subscribers.arePaused { policiesChanged(&state, &decision) }
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
            policiesChanged(&state, &decision)
            endUnlessWaiting(&state, &decision)
            if state.subscribers[id]?.deadline != nil {
                decision.effects.append(DeferredEffect { [self] in watchDeadline(of: id) })
            }
            if state.machine.intent == .run {
                let event = DownloadEvent.resumed(fromOffset: state.machine.bytes.intervals.prefixEnd)
                decision.effects += state.subscribers.update(id) { $0.emit(event) } ?? []
                endUnlessWaiting(&state, &decision)
            } else {
                decision.effects += state.emitCanceledPause()
                decision.actions += state.machine.run(at: now)
            }
        }
    }

    /// Ends every subscriber with `error` and stops the transfer with all bytes kept, regardless of the
    /// ``AbandonmentPolicy``.
    func shutDown(_ error: DownloadError) {
        let now = environment.time.now
        update { state, decision in
            for id in state.subscribers.activeIDs {
                _ = end(id, .failure(error), keepingBytes: true, &state, &decision)
            }
            decision.actions += state.machine.stop(.abandon, at: now)
        }
    }
}

extension ActiveTransfer.State {
    /// Whether a new subscriber can still receive this transfer's file.
    var isJoinable: Bool { !delivery.isServed && machine.isJoinable }

    /// Passes the policies of the first subscriber to the state machine.
    mutating func attachedFirst(_ request: DownloadRequest, _ environment: TransferEnvironment) {
        if let policies = subscribers.combinedPolicies { machine.setPolicies(policies) }
        guard let expiration = request.urlExpiration else { return }
        machine.setExpiration(at: environment.time.now + environment.time.date.duration(to: expiration))
    }

    /// Emits a pause to the paused subscribers if the transfer's pause is canceled before it is complete.
    fileprivate mutating func emitCanceledPause() -> [DeferredEffect] {
        guard machine.intent == .pause, machine.phase != .paused else { return [] }
        return subscribers.emitToPaused(.paused(receivedByteCount: machine.bytes.count))
    }
}
