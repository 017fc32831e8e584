/// What callers do to a transfer. Each caller is known by the number that it got when it attached.
extension Transfer {
    /// A caller that has joined, and what is to be done about it once no lock is held.
    struct Attachment: Sendable {
        let number: Int
        let settle: @Sendable () -> Void
    }

    /// Joins, or answers nil when the transfer can no longer serve anyone new.
    ///
    /// Called under the registry's lock; `settle` of what is returned must be called after it is released.
    func attach(_ request: DownloadRequest, running: Bool = true, superseding: Bool = false) -> Attachment? {
        let now = environment.time.now
        return decideLater { state, decision -> Int? in
            guard state.machine.isJoinable else { return nil }
            if superseding {
                let error = DownloadError(.superseded, bytesKept: state.machine.received.count)
                decision.wakeups += state.subscribers.end(.failed(error))
            }
            let isJoining = state.machine.state != .ready
            let number = state.subscribers.add(request)
            state.machine.byteLimit = state.subscribers.byteLimit
            state.machine.isRefreshable = state.subscribers.canRefreshURL
            if isJoining, let address = address(of: request, at: now) { state.machine.offer(address) }
            if !isJoining, let expiration = request.urlExpiration {
                state.machine.expiresAt = now + environment.time.date.duration(to: expiration)
            }
            if state.subscribers.wantsFile, let partial = state.partial {
                decision.wakeups.append(Wakeup { partial.leaveMemory() })
            }
            if isJoining {
                // What those before it have heard already and it needs to make sense of the rest.
                for event in state.machine.present(isPaused: false, outcome: nil) {
                    _ = state.subscribers.update(number) { $0.tell(event) }
                }
            }
            if running {
                decision.wakeups += state.tellPauseTakenBack()
                decision.actions += state.machine.run(at: now)
            } else {
                _ = state.subscribers.update(number) { $0.isPaused = true }
            }
            endOversized(&state, &decision, at: now)
            return number
        }
    }

    /// Ends it for those who accept fewer bytes than there are, where others accept more.
    func endOversized(_ state: inout State, _ decision: inout Decision, at now: Duration) {
        let count = state.machine.representation?.length ?? state.machine.received.upperBound
        for (number, limit) in state.subscribers.oversized(count) {
            let error = DownloadError(.bodyTooLarge, "\(count) bytes or more, \(limit) allowed")
            leave(number, error, keepingBytes: true, &state, &decision, at: now)
        }
    }

    /// Leaves: the caller's outcome is `error`, and the transfer stops when nobody else is there.
    func detach(_ number: Int, _ error: DownloadError, keepingBytes: Bool = true) {
        let now = environment.time.now
        update { state, decision in
            leave(number, error, keepingBytes: keepingBytes, &state, &decision, at: now)
        }
    }

    private func leave(
        _ number: Int, _ error: DownloadError, keepingBytes: Bool, _ state: inout State, _ decision: inout Decision,
        at now: Duration
    ) {
        let isLast = !state.subscribers.attached.contains { $0.number != number }
        let keepingBytes = keepingBytes && !(isLast && environment.abandonment == .discard)
        guard end(number, error, keepingBytes: keepingBytes, &state, &decision) else { return }
        if !isLast {
            state.machine.byteLimit = state.subscribers.byteLimit
            state.machine.isRefreshable = state.subscribers.canRefreshURL
            if state.subscribers.arePaused { decision.actions += state.machine.stop(.pause, at: now) }
        } else if !keepingBytes {
            decision.actions += state.machine.stop(.discard, at: now)
        } else if environment.abandonment == .pause || state.machine.wish == .pause {
            decision.actions += state.machine.stop(.park, at: now)
        }
    }

    /// Gives one caller its error, if it has no outcome yet.
    private func end(
        _ number: Int, _ error: DownloadError, keepingBytes: Bool, _ state: inout State, _ decision: inout Decision
    ) -> Bool {
        // Once it has ended, nobody can leave it any more: its end is about to be told.
        guard state.machine.state != .ended, let subscriber = state.subscribers.all[number], subscriber.outcome == nil
        else { return false }
        var error = error
        error.url = subscriber.request.url
        error.bytesKept = keepingBytes ? state.machine.received.count : 0
        decision.wakeups += state.subscribers.update(number) { $0.end(.failure(error)) } ?? []
        return true
    }

    /// Pauses for this caller; the transfer stops when nobody else wants it to run.
    func pause(_ number: Int) {
        let now = environment.time.now
        update { state, decision in
            guard let subscriber = state.subscribers.all[number], subscriber.outcome == nil, !subscriber.isPaused
            else { return }
            _ = state.subscribers.update(number) { $0.isPaused = true }
            if state.subscribers.arePaused {
                decision.actions += state.machine.stop(.pause, at: now)
            } else {
                let event = DownloadEvent.paused(receivedByteCount: state.machine.received.count)
                decision.wakeups += state.subscribers.update(number) { $0.tell(event) } ?? []
            }
        }
    }

    /// Goes on for this caller.
    func resume(_ number: Int) {
        let now = environment.time.now
        update { state, decision in
            guard let subscriber = state.subscribers.all[number], subscriber.outcome == nil, subscriber.isPaused
            else { return }
            let didRun = state.machine.wish == .run
            _ = state.subscribers.update(number) { $0.isPaused = false }
            if didRun {
                let event = DownloadEvent.resumed(fromOffset: state.machine.received.prefixEnd)
                decision.wakeups += state.subscribers.update(number) { $0.tell(event) } ?? []
            } else {
                decision.wakeups += state.tellPauseTakenBack()
                decision.actions += state.machine.run(at: now)
            }
        }
    }

    /// Pauses or resumes for every caller at once.
    func forEachCaller(_ body: (Int) -> Void) {
        for number in withState({ $0.subscribers.attached.map(\.number) }) { body(number) }
    }

    /// Ends every caller with `error` and stops with all bytes kept, whatever the ``AbandonmentPolicy`` says.
    func shutDown(_ error: DownloadError) {
        let now = environment.time.now
        update { state, decision in
            for (number, _) in state.subscribers.attached {
                _ = end(number, error, keepingBytes: true, &state, &decision)
            }
            decision.actions += state.machine.stop(.park, at: now)
        }
    }

    /// Registers what an earlier process left as paused.
    func revive(_ unfinished: UnfinishedPartial) {
        update { state, _ in state.machine.revive(unfinished) }
    }
}

// MARK: - Awaiting the result

extension Transfer {
    /// The caller's outcome, awaited if need be; leaving the task leaves the transfer, if nobody else listens.
    func outcome(of number: Int) async -> Subscribers.Outcome {
        let waiter = update { state, _ in state.subscribers.newNumber() }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let ready = update { state, decision -> Subscribers.Outcome? in
                    // A task that is cancelled already has had its handler called, which found no waiter.
                    if Task.isCancelled { return .failure(leaveIfUnheard(number, &state, &decision)) }
                    if let outcome = state.subscribers.all[number]?.outcome { return outcome }
                    _ = state.subscribers.update(number) { $0.waiters[waiter] = continuation }
                    return nil
                }
                if let ready { continuation.resume(returning: ready) }
            }
        } onCancel: {
            update { state, decision in
                let waiting = state.subscribers.update(number) { $0.waiters.removeValue(forKey: waiter) }
                guard let continuation = waiting ?? nil else { return }
                let error = leaveIfUnheard(number, &state, &decision)
                decision.wakeups.append(Wakeup { continuation.resume(returning: .failure(error)) })
            }
        }
    }

    /// Detaches a caller whose consumer was cancelled, if that was the last, and returns what the consumer gets.
    private func leaveIfUnheard(
        _ number: Int, _ state: inout State, _ decision: inout Decision
    ) -> DownloadError {
        if state.subscribers.all[number]?.hasConsumers == false {
            let now = environment.time.now
            leave(number, DownloadError(.cancelled), keepingBytes: true, &state, &decision, at: now)
        }
        return state.cancellation(of: number)
    }
}

extension Transfer.State {
    /// What a consumer of caller `number` gets whose task was cancelled.
    func cancellation(of number: Int) -> DownloadError {
        if case .failure(let error)? = subscribers.all[number]?.outcome, error.code == .cancelled { return error }
        return DownloadError(.cancelled, bytesKept: machine.received.count)
    }

    /// Tells those who stay paused of a pause of all that somebody takes back before it is there: it is theirs alone now.
    fileprivate mutating func tellPauseTakenBack() -> [Wakeup] {
        guard machine.wish == .pause, machine.state != .paused else { return [] }
        return subscribers.tellPaused(.paused(receivedByteCount: machine.received.count))
    }
}

// MARK: - Streams

extension Transfer {
    /// Opens a stream: the first tells everything since the caller came, later ones begin with the state as it is.
    ///
    /// An onlooker's begins with the state as it is, and takes nothing from the others.
    func openStream(_ number: Int, isOnlooker: Bool = false) -> Int {
        update { state, decision in
            let machine = state.machine
            let id = state.subscribers.newNumber()
            if isOnlooker { state.subscribers.hasOnlookers = true }
            let wakeups = state.subscribers.update(number) { subscriber -> [Wakeup] in
                if !isOnlooker, let first = subscriber.mailboxes.first(where: { !$0.value.isClaimed }) {
                    subscriber.mailboxes[first.key] = nil
                    subscriber.mailboxes[id] = first.value
                    subscriber.mailboxes[id]?.isClaimed = true
                    return []
                }
                var mailbox = Mailbox()
                mailbox.isClaimed = true
                mailbox.isOnlooker = isOnlooker
                var wakeups: [Wakeup] = []
                for event in machine.present(isPaused: subscriber.isPaused, outcome: subscriber.outcome) {
                    wakeups += mailbox.put(event)
                }
                switch subscriber.outcome {
                case .success: wakeups += mailbox.finish(nil)
                case .failure(let error): wakeups += mailbox.finish(error)
                case nil: break
                }
                subscriber.mailboxes[id] = mailbox
                return wakeups
            }
            decision.wakeups += wakeups ?? []
            return id
        }
    }

    /// The stream's next event; nil at its end.
    func nextEvent(_ number: Int, stream: Int) async throws(DownloadError) -> DownloadEvent? {
        let delivery: Mailbox.Delivery = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let ready = update { state, decision -> Mailbox.Delivery? in
                    if Task.isCancelled { return .failure(state.cancellation(of: number)) }
                    let result = state.subscribers.update(number) { subscriber -> Mailbox.Delivery? in
                        if let delivery = subscriber.mailboxes[stream]?.take() { return delivery }
                        guard subscriber.mailboxes[stream] != nil else { return .success(nil) }
                        decision.wakeups += subscriber.mailboxes[stream]?.wait(continuation) ?? []
                        return nil
                    }
                    return result ?? .success(nil)
                }
                if let ready { continuation.resume(returning: ready) }
            }
        } onCancel: {
            closeStream(number, stream: stream, cancelled: true)
        }
        return try delivery.get()
    }

    /// The stream is not read any more; where its task was cancelled, that counts as leaving.
    func closeStream(_ number: Int, stream: Int, cancelled: Bool) {
        update { state, decision in
            let mailbox = state.subscribers.update(number) { $0.mailboxes.removeValue(forKey: stream) }
            guard var mailbox = mailbox ?? nil else { return }
            let leaves = cancelled && !mailbox.isOnlooker
            let error = leaves ? leaveIfUnheard(number, &state, &decision) : state.cancellation(of: number)
            decision.wakeups += mailbox.finish(error)
        }
    }
}

extension TransferStateMachine {
    /// What a stream that is opened late has to hear first.
    func present(isPaused: Bool, outcome: Subscribers.Outcome?) -> [DownloadEvent] {
        switch outcome {
        case .success(let file): return [.finished(file)]
        case .failure: return []
        case nil: break
        }
        // A pause that is under way is told when the bytes are on disk; one among others that go on is done already.
        if state == .paused || isPaused && wish == .run { return [.paused(receivedByteCount: received.count)] }
        switch state {
        case .finishing: return [.verifying]
        case .ready, .waiting: return [.waiting]
        default:
            guard hasStarted else { return [.progress(progress)] }
            let start = DownloadEvent.started(expectedByteCount: representation?.length, isResumable: isResumable)
            return [start, .progress(progress)]
        }
    }
}
