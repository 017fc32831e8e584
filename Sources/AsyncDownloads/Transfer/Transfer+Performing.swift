internal import Foundation

/// Carrying out what the state machine decided.
extension Transfer {
    func perform(_ action: TransferAction) {
        switch action {
        case .requestPermit: requestPermit()
        case .releasePermit: releasePermit()
        case .openPartial: openPartial()
        case .beginPartial(let representation, let number): beginPartial(representation, exchange: number)
        case .adopt(let representation): onPartial { $0.adopt(representation) }
        case .recordPartial(let received, let number): recordPartial(received, exchange: number)
        case .retractPartial(let received): retractPartial(to: received)
        case .savePartial(let received): savePartial(received)
        case .closePartial(let received): closePartial(saving: received)
        case .discardPartial: discardPartial()
        case .finishPartial(let length, let representation): finishPartial(length: length, of: representation)
        case .startExchange(let number, let request): startExchange(number, request)
        case .cancelExchange: withState { $0.receiver }?.cancel()
        case .abandonExchange: withState { $0.receiver }?.exchangeEnded(.cancelled)
        case .openGate: withState { $0.receiver }?.openGate()
        case .refreshURL(let context, let number): refreshURL(context, number: number)
        case .cancelRefresh: update { state, _ in state.refresh }?.cancel()
        case .scheduleRetry(let delay, let number): scheduleRetry(after: delay, number: number)
        case .scheduleTick(let delay): scheduleTick(after: delay)
        case .scheduleDeadline(let delay): scheduleDeadline(after: delay)
        case .cancelDeadline: update { state, _ in state.deadline }?.cancel()
        case .end(let ending): finishLife(ending)
        // Told when it was decided, so that no caller who came later hears it.
        case .tell: break
        }
    }

    var now: Duration { environment.time.now }

    // MARK: The scheduler

    private func requestPermit() {
        let (priority, number) = update { state, _ in
            state.permitNumber += 1
            return (state.subscribers.priority, state.permitNumber)
        }
        environment.scheduler.request(
            host: URL(string: key.url)?.host ?? "", priority: priority,
            ticket: { ticket in update { state, _ in state.ticket = ticket } },
            granted: { [self] in
                update { state, decision in
                    // A grant that crossed its release is not the answer to a later request.
                    guard state.permitNumber == number else { return }
                    decision.actions += state.machine.permitGranted(at: now)
                }
            })
    }

    private func releasePermit() {
        let ticket = update { state, _ in
            defer { state.ticket = nil }
            state.permitNumber += 1
            return state.ticket
        }
        if let ticket { environment.scheduler.release(ticket) }
    }

    // MARK: The engine

    private func startExchange(_ number: Int, _ request: ExchangeRequest) {
        let receiver = ExchangeReceiver(transfer: self, number: number)
        update { state, _ in state.receiver = receiver }
        receiver.started(environment.transport.start(request, handler: receiver))
    }

    // MARK: Time

    private func scheduleRetry(after delay: Duration, number: Int) {
        let action = environment.time.schedule(after: delay) { [self] in
            input { $0.retryDue(number: number, at: now) }
        }
        update { state, _ in state.retry = action }
    }

    private func scheduleTick(after delay: Duration) {
        let action = environment.time.schedule(after: delay) { [self] in
            input { $0.tick(at: now) }
        }
        update { state, _ in state.tick = action }
    }

    private func scheduleDeadline(after delay: Duration) {
        let action = environment.time.schedule(after: delay) { [self] in
            input { $0.deadlineReached(at: now) }
        }
        let earlier = update { state, _ in
            defer { state.deadline = action }
            return state.deadline
        }
        earlier?.cancel()
    }

    private func finishLife(_ ending: TransferEnding) {
        let timers = update { state, _ in
            defer { (state.deadline, state.tick, state.retry, state.receiver) = (nil, nil, nil, nil) }
            return [state.deadline, state.tick, state.retry]
        }
        for timer in timers { timer?.cancel() }
        releasePermit()
        end(ending)
    }
}

// MARK: - What the engine reports

extension Transfer {
    func headArrived(_ head: ResponseHead, from receiver: ExchangeReceiver, number: Int) -> Readiness {
        let (reply, gate, partial) = update { state, decision in
            decision.actions += state.machine.headArrived(
                head, exchange: number, at: now, date: environment.time.date)
            endOversized(&state, &decision, at: now)
            let reply = state.machine.headReply(exchange: number)
            // Shut before anybody may want to open it.
            return (reply, reply == .holdBack ? receiver.shutGate() : nil, state.partial)
        }
        if case .begin(let representation) = reply, let partial {
            let result = Result { () throws(DownloadError) in try partial.begin(representation) }
            input { $0.began(result, exchange: number, at: now) }
        }
        return gate.map { .notYet($0) } ?? .ready
    }

    /// Writes the bytes on the engine's thread: they are valid during the call only, and a hop would cost a copy.
    func bytesArrived(_ bytes: UnsafeRawBufferPointer, exchange number: Int) {
        let (decision, partial) = update { state, _ in
            (state.machine.bytesArrived(bytes.count, exchange: number, at: now), state.partial)
        }
        guard case .write(let skipping, let count, let offset) = decision, let partial else { return }
        let wanted = UnsafeRawBufferPointer(rebasing: bytes[skipping..<skipping + count])
        do throws(DownloadError) {
            try partial.write(wanted, at: offset)
        } catch {
            input { $0.writeFailed(error, exchange: number, at: now) }
            return
        }
        let (received, isDigestDue) = update { state, decision in
            decision.actions += state.machine.wrote(count, exchange: number, at: now)
            endOversized(&state, &decision, at: now)
            return (state.machine.received, state.beginDigesting())
        }
        partial.mark(received)
        if isDigestDue { digestOnQueue() }
    }

    func exchangeEnded(_ end: ExchangeEnd, number: Int) {
        input { $0.exchangeEnded(end, exchange: number, at: now) }
    }
}
