/// The callbacks of the engine, and the writing of the bytes that it delivers.
extension ActiveTransfer {
    func headArrived(_ head: ResponseHead, from receiver: ExchangeReceiver, exchange id: ExchangeID) -> Readiness {
        // No lock is held while the subscribers decide.
        let refusals = redirectRefusals(head, from: receiver.url)
        let (reply, gate, partial, credentials) = update { state, decision in
            answered(receiver, head, &state, &decision)
            for (id, error) in refusals { detach(id, .failure(error), policy: .pause, &state, &decision, at: now) }
            if head.status.asksForFewerRequests,
                state.machine.policies.retryPolicy.respected(RetryAfter.delay(head, now: environment.time.date)) == nil
            {
                releaseExtras(forRequestOf: id, isResponse: true, &state)
            }
            let isProposed = propose(head, exchange: id, &state, &decision)
            let reply = isProposed ? .proceed : handleHead(head, exchange: id, &state, &decision)
            let isAside = reply != .proceed && (reply == .holdBack || writesAside(state, exchange: id))
            if isAside, case .start(let representation) = reply {
                decision.actions.append(.startPartial(representation, exchange: id))
            }
            // The gate is set under the lock, before an action may open it.
            let gate = isAside || isProposed ? receiver.shutGate() : nil
            return (reply, gate, state.storage.partial, state.machine.credentials)
        }
        if let gate { return .notYet(gate) }
        if case .start(let representation) = reply, let partial {
            // Destinations are checked again, because they may have become unusable since the request; if all have, the
            // transfer ends.
            guard timed(partial, { refuseDestinations(suggestedName: representation.suggestedName) }) == nil else {
                update { state, _ in state.machine.startRefused() }
                return .ready
            }
            if timed(partial, { reuseNamedFiles(representation, exchange: id) }) { return .ready }
            // The queue's operation that sets the headers may not have run yet.
            let result = timed(partial) {
                Result { () throws(DownloadError) in try partial.begin(representation, with: credentials) }
            }
            let allowsGaps = partial.allowsGaps
            update { state, decision in
                let failure = state.machine.isHeldBack(id) ? result.failure : nil
                let relocates = failure.map { relocate(after: $0, &state, &decision) } ?? false
                decision.actions += state.machine.partialStarted(
                    result, allowsGaps: allowsGaps, relocates: relocates, exchange: id, at: now)
            }
        }
        return .ready
    }

    private func handleHead(
        _ head: ResponseHead, exchange id: ExchangeID, _ state: inout State, _ decision: inout Decision
    ) -> TransferStateMachine.HeadReply {
        let (reply, actions) = state.machine.headArrived(head, exchange: id, at: now, date: environment.time.date)
        decision.actions += actions
        endOversized(&state, &decision, at: now)
        // The remaining subscribers may be paused, which has stopped the exchange.
        return state.machine.phase == .preparing ? reply : .proceed
    }

    /// Writes the bytes on the engine's thread, without a copy, because they are valid only during the call.
    ///
    /// If writing would block the thread, the bytes are copied and written on the transfer's queue, and no more bytes
    /// are delivered until they are written.
    func bytesArrived(
        _ bytes: UnsafeRawBufferPointer, from receiver: ExchangeReceiver, exchange id: ExchangeID
    ) -> Readiness {
        let (decision, partial, isAside) = updateQuietly { state in
            let isAside = writesAside(state, exchange: id)
            return (state.machine.bytesArrived(bytes.count, exchange: id, at: now), state.storage.partial, isAside)
        }
        switch decision {
        case .ignore: return .ready
        case .keepRefusal:
            receiver.keepRefusalBody(bytes)
            return .ready
        case .write, .compare: break
        }
        guard let partial else { return .ready }
        guard isAside else {
            take(bytes, decision, partial, id, isAside: false)
            return pace(bytes.count, receiver)
        }
        let copy = [UInt8](bytes)
        let end = receiver.holdEnd()
        let gate = Gate()
        let pace = pace(bytes.count, receiver)
        queue.async { [self] in
            copy.withUnsafeBytes { take($0, decision, partial, id, isAside: true) }
            if case .notYet(let paceGate) = pace { paceGate.onOpen { gate.open() } } else { gate.open() }
            end.release()
        }
        return .notYet(gate)
    }

    /// The maximum number of bytes that an exchange should deliver at once; nil without a bandwidth limit.
    var longestPart: Int? {
        let (all, own) = (environment.bandwidth.longestPart, bandwidth.longestPart)
        return all.map { min($0, own ?? $0) } ?? own
    }

    /// Counts received bytes, and holds back the next ones if a bandwidth limit is reached.
    private func pace(_ count: Int, _ receiver: ExchangeReceiver) -> Readiness {
        let (all, own) = (environment.bandwidth.received(count), bandwidth.received(count))
        guard all != nil || own != nil, let gate = receiver.paceGate([all, own].compactMap { $0 }) else {
            return .ready
        }
        return .notYet(gate)
    }

    /// Writes or compares the parts of the bytes, possibly on the transfer's queue.
    private func take(
        _ bytes: UnsafeRawBufferPointer, _ decision: TransferStateMachine.BytesDecision, _ partial: PartialFile,
        _ id: ExchangeID, isAside: Bool
    ) {
        switch decision {
        case .ignore, .keepRefusal: break
        case .write(let parts):
            for part in parts { write(part.bytes(of: bytes), at: part.offset, to: partial, id, isAside: isAside) }
        case .compare(let part): compare(part.bytes(of: bytes), at: part.offset, in: partial, id)
        }
    }

    func exchangeWaits(forConnectivity isWaiting: Bool, exchange id: ExchangeID) {
        update { state, decision in
            decision.actions += state.machine.connectivityChanged(isWaiting: isWaiting, exchange: id, at: now)
        }
    }

    func exchangeEnded(_ end: ExchangeEnd, exchange id: ExchangeID) {
        // The network may be lost; the system reports this later.
        if case .failed(let error) = end, error.isRetryable { environment.network.refresh() }
        update { state, decision in
            state.machine.setPath(environment.network.path)
            let policy = state.machine.policies.retryPolicy
            let url = state.connections[id]?.url ?? state.machine.address.url
            var answer = RequestAnswer(end, of: ResourceID(url), policy: policy)
            if case .nothing = answer, state.machine.hasTimedOut(id) {
                answer = RequestAnswer(
                    timedOut: end, of: ResourceID(url), after: state.machine.policies.idleTimeout, policy: policy)
            }
            if case .failed(let error) = end, [.cannotConnect, .connectionLost].contains(error.code),
                releaseExtras(forRequestOf: id, isResponse: false, &state)
            {
                answer = .lost
            }
            // Without a network, a failure says nothing about the origin.
            if state.machine.networkHindrance != nil { answer = .nothing }
            let receiver = state.connections.end(id)
            if let body = receiver?.refusalBody { state.machine.receivedRefusal(body) }
            let consequence = receiver.map { answered($0, answer, &decision) }
            if consequence?.concernsOrigin == true { state.machine.originFailed(at: now) }
            decision.actions += state.machine.exchangeEnded(end, step: consequence?.step, exchange: id, at: now)
        }
    }

    /// Compares the bytes with the bytes in the partial file.
    private func compare(
        _ bytes: UnsafeRawBufferPointer, at offset: Int64, in partial: PartialFile, _ id: ExchangeID
    ) {
        let result = timed(partial) {
            Result { () throws(DownloadError) in try partial.holds(bytes, at: offset) }
        }
        switch result {
        case .success(let isEqual): input { $0.compared(isEqual, exchange: id, at: now) }
        case .failure(let error): writeFailed(error, id)
        }
    }

    private func write(
        _ bytes: UnsafeRawBufferPointer, at offset: Int64, to partial: PartialFile, _ id: ExchangeID, isAside: Bool
    ) {
        let result = timed(partial) {
            Result { () throws(DownloadError) in try partial.write(bytes, at: offset) }
        }
        if case .failure(let error) = result { return writeFailed(error, id) }
        let isDigestDue = update { state, decision in
            for action in state.machine.wrote(bytes.count, at: offset, exchange: id, at: now) {
                if case .markPartial(let received, let epoch) = action, isAside || !writesAside(state, exchange: id) {
                    // The bytes are marked before subscribers are notified of them; the queue might be busy with a
                    // sync.
                    decision.effects.insert(
                        DeferredEffect { [self] in timed(partial) { partial.mark(received, epoch: epoch) } }, at: 0)
                } else {
                    decision.actions.append(action)
                }
            }
            endOversized(&state, &decision, at: now)
            return state.beginDigesting()
        }
        if isDigestDue { digestOnQueue() }
    }

    private func writeFailed(_ error: DownloadError, _ id: ExchangeID) {
        update { state, decision in
            let isAccepted = state.machine.isReceiving(id)
            let relocates = isAccepted && relocate(after: error, &state, &decision)
            decision.actions += state.machine.writeFailed(error, relocates: relocates, exchange: id, at: now)
        }
    }

    /// Returns whether bytes must not be written on an engine's thread.
    ///
    /// If an engine delivers bytes although it was held back, they are written after the earlier bytes.
    private func writesAside(_ state: State, exchange id: ExchangeID) -> Bool {
        state.storage.usesQueue || state.machine.isWriting(id)
            || environment.slowDisks.contains(state.storage.partial?.volume, at: now)
    }

    /// Runs a call that waits for a disk, and records its duration.
    private func timed<Value>(_ partial: PartialFile, _ body: () -> Value) -> Value {
        environment.slowDisks.measure(partial.volume, environment.time, body)
    }
}

extension ExchangeProgress.Part {
    /// Returns the bytes of this part from all arrived bytes.
    fileprivate func bytes(of all: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: all[skipped..<skipped + count])
    }
}
