internal import Foundation

/// Carrying out what the state machine decided.
extension Transfer {
    func perform(_ action: TransferAction) {
        switch action {
        case .requestPermit(let host, let number): requestPermit(host: host, number)
        case .movePermit(let host, let number): movePermit(to: host, number)
        case .releasePermit: releasePermit()
        case .openPartial: openPartial()
        case .beginPartial(let representation, let number): beginPartial(representation, exchange: number)
        case .updateRepresentation(let representation): onPartial { $0.updateRepresentation(representation) }
        case .useCredentials(let headers): onPartial { $0.useCredentials(headers) }
        case .confirmCredentials: onPartial { $0.confirmCredentials() }
        case .removeImportedFile: removeImportedFile()
        case .recordPartial(let received, let number): recordPartial(received, exchange: number)
        case .rollBackPartial(let received): rollBackPartial(to: received)
        case .markPartial(let received): markPartial(received)
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
        case .scheduleMark(let delay): scheduleMark(after: delay)
        case .end(let ending): tearDown(ending)
        // Told when it was decided, so that no caller who came later hears it.
        case .emit: break
        }
    }

    var now: Duration { environment.time.now }

    // MARK: The scheduler

    private func requestPermit(host: String, _ number: Int) {
        let (priority, place) = update { state, _ in
            state.permit.priority = state.subscribers.priority
            return (state.permit.priority, state.permit.place)
        }
        environment.scheduler.request(
            host: host, priority: priority, place: place,
            ticket: { ticket in
                update { state, _ in
                    state.permit.ticket = ticket
                    if state.permit.place == nil { state.permit.place = ticket }
                    // A subscriber may have come or gone before the ticket was known.
                    if !state.subscribers.isEmpty { state.permit.priority = state.subscribers.priority }
                }
                updatePriority(of: ticket)
            },
            granted: { [self] in input { $0.permitGranted(number, at: now) } })
    }

    private func movePermit(to host: String, _ number: Int) {
        guard let ticket = withState({ $0.permit.ticket }) else { preconditionFailure("a move without a permit") }
        if environment.scheduler.move(ticket, to: host) {
            input { $0.permitGranted(number, at: now) }
        } else {
            update { state, decision in
                state.permit.ticket = nil
                decision.actions += state.machine.moveRefused(number, at: now)
            }
        }
    }

    private func releasePermit() {
        let ticket = update { state, _ in
            defer { state.permit.ticket = nil }
            return state.permit.ticket
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
            let receiver = withState { $0.receiver }
            let (callbackTime, isHeldUp) = (receiver?.callbackTime, receiver?.isInCallback ?? false)
            input { $0.tick(at: now, callbackTime: callbackTime, isHeldUp: isHeldUp) }
        }
        update { state, _ in state.tick = action }
    }

    private func scheduleMark(after delay: Duration) {
        let action = environment.time.schedule(after: delay) { [self] in
            input { $0.markDue(at: now) }
        }
        update { state, _ in state.mark = action }
    }

    private func tearDown(_ ending: TransferEnding) {
        let timers = update { state, _ in
            defer { (state.tick, state.retry, state.mark, state.receiver) = (nil, nil, nil, nil) }
            return [state.tick, state.retry, state.mark].compactMap { $0 } + state.subscribers.takeDeadlineTimers()
        }
        for timer in timers { timer.cancel() }
        releasePermit()
        end(ending)
    }
}
