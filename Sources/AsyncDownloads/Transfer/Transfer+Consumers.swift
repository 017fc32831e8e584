/// What awaits a subscriber's outcome, and what reads its events.
extension Transfer {
    /// The subscriber's outcome, awaited if need be; leaving the task leaves the transfer, if nobody else listens.
    func outcome(of number: Int) async -> Subscribers.Outcome {
        let waiter = update { state, _ in state.subscribers.newNumber() }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let ready = update { state, decision -> Subscribers.Outcome? in
                    // A task that is cancelled already has had its handler called, which found no waiter.
                    if Task.isCancelled { return .failure(leaveIfUnheard(number, &state, &decision)) }
                    if let outcome = state.subscribers.all[number]?.outcome { return outcome }
                    _ = state.subscribers.update(number) { $0.waiters[waiter] = { continuation.resume(returning: $0) } }
                    return nil
                }
                if let ready { continuation.resume(returning: ready) }
            }
        } onCancel: {
            update { state, decision in
                let waiting = state.subscribers.update(number) { $0.waiters.removeValue(forKey: waiter) }
                guard let resume = waiting ?? nil else { return }
                let error = leaveIfUnheard(number, &state, &decision)
                decision.wakeups.append(Wakeup { resume(.failure(error)) })
            }
        }
    }

    /// Detaches a caller whose consumer was cancelled, if that was the last, and returns what the consumer gets.
    private func leaveIfUnheard(
        _ number: Int, _ state: inout State, _ decision: inout Decision
    ) -> DownloadError {
        if state.subscribers.all[number]?.hasConsumers == false {
            let now = environment.time.now
            leave(number, DownloadError(.cancelled), &state, &decision, at: now)
        }
        return state.cancellation(of: number)
    }

    /// Calls `body` once with the subscriber's outcome, perhaps before this returns.
    ///
    /// What waits this way counts as a consumer of the subscriber.
    func whenEnded(_ number: Int, _ body: @escaping @Sendable (Subscriber.Outcome) -> Void) {
        let outcome = update { state, _ -> Subscriber.Outcome? in
            if let outcome = state.subscribers.all[number]?.outcome { return outcome }
            let waiter = state.subscribers.newNumber()
            _ = state.subscribers.update(number) { $0.waiters[waiter] = body }
            return nil
        }
        if let outcome { body(outcome) }
    }
}

extension Transfer.State {
    /// What a consumer of subscriber `number` gets whose task was cancelled.
    func cancellation(of number: Int) -> DownloadError {
        if case .failure(let error)? = subscribers.all[number]?.outcome, error.code == .cancelled { return error }
        return DownloadError(.cancelled, bytesKept: machine.received.count)
    }
}

extension Transfer {
    /// Opens a stream: the first tells everything since the caller came, later ones begin with the state as it is.
    ///
    /// An onlooker's begins with the state as it is, and takes nothing from the others.
    func openStream(_ number: Int, isOnlooker: Bool = false) -> Int {
        update { state, decision in
            let machine = state.machine
            let id = state.subscribers.newNumber()
            if isOnlooker { state.subscribers.noteOnlooker(number) }
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
