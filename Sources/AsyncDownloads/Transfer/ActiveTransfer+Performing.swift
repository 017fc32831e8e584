internal import Foundation

/// The execution of the actions that the state machine returns.
extension ActiveTransfer {
    func perform(_ action: TransferAction) {
        switch action {
        case .openPartial(let credentials): openPartial(credentials)
        case .startPartial(let representation, let id): startPartial(representation, exchange: id)
        case .updateRepresentation(let representation): onPartial { $0.updateRepresentation(representation) }
        case .useCredentials: useCredentials()
        case .confirmCredentials: onPartial { $0.confirmCredentials() }
        case .removeImportedFile: removeImportedFile()
        case .recordPartial(let received, let id): recordPartial(received, exchange: id)
        case .rollBackPartial(let received, let epoch): rollBackPartial(to: received, epoch: epoch)
        case .markPartial(let received, let epoch): markPartial(received, epoch: epoch)
        case .savePartial(let received): savePartial(received)
        case .closePartial(let received): closePartial(saving: received)
        case .discardPartial: discardPartial()
        case .finishPartial(let length, let representation, let checksum):
            finishPartial(length: length, of: representation, verifying: checksum)
        case .startExchange(let id, let request): startExchange(id, request)
        case .cancelExchange(let id): receiver(of: id)?.cancel()
        case .abandonExchange(let id): receiver(of: id)?.exchangeEnded(.cancelled)
        case .openGate(let id): receiver(of: id)?.openGate(evenIfPaced: false)
        case .refreshURL(let context, let id): refreshURL(context, id)
        case .authorize(let request, let id): authorize(request, id)
        case .cancelRefresh: update { state, _ in state.scheduled.takeRefresh() }?.cancel()
        case .recordHost(let found): record(found)
        case .leaveConnections: environment.connections.remove(number)
        case .scheduleRetry(let delay, let timer): scheduleRetry(after: delay, timer)
        case .scheduleTick(let delay): scheduleTick(after: delay)
        case .scheduleMark(let delay): scheduleMark(after: delay)
        case .end(let ending): tearDown(ending)
        // The requests, moves, and releases were made when they were decided.
        case .requestPermit, .movePermit, .releasePermit: environment.scheduler.deliverGrants()
        // The event was emitted when it was decided, so that subscribers that attached later don't receive it.
        case .emit: break
        }
    }

    var now: Duration { environment.time.now }

    // MARK: The engine

    private func startExchange(_ id: ExchangeID, _ request: ExchangeRequest) {
        let (receiver, all) = withState { state in
            (state.connections[id], state.connections.areSeveral ? state.connections.all.map(\.receiver) : [])
        }
        guard let receiver else { preconditionFailure("an exchange without a receiver") }
        // The receiver itself has no exchange yet, and a receiver whose end is held back has no exchange anymore.
        let neighbor = all.lazy.compactMap(\.runningExchange).first
        let exchange = environment.transport.start(request, beside: neighbor, handler: receiver)
        receiver.started(exchange)
    }

    private func receiver(of id: ExchangeID) -> ExchangeReceiver? { withState { $0.connections[id] } }

    // MARK: Time

    private func scheduleRetry(after delay: Duration, _ timer: TimerID) {
        let action = environment.time.schedule(after: delay) { [self] in
            input { $0.retryDue(timer, at: now) }
        }
        update { state, _ in state.scheduled.setRetry(action) }
    }

    private func scheduleTick(after delay: Duration) {
        let action = environment.time.schedule(after: delay) { [self] in
            let (connections, report, host, volume) = updateQuietly { state in
                let report = state.machine.connectionReport(at: now)
                return (state.connections.all, report, state.machine.permitHost, state.storage.partial?.volume)
            }
            let budget = report.map { connectionBudget($0, host: host, volume: volume) }
            let statuses = connections.map { ($0.id, $0.receiver.callbackStatus) }
            let (observation, hasLeft) = update { state, decision in
                decision.actions += state.machine.tick(at: now, Dictionary(uniqueKeysWithValues: statuses), budget)
                return (state.machine.takeObservation(), [.finishing, .ended].contains(state.machine.phase))
            }
            // The exchanges may have ended since the report, after which the transfer may already have been removed.
            if hasLeft, budget != nil { environment.connections.remove(number) }
            record(observation)
        }
        update { state, _ in state.scheduled.setTick(action) }
    }

    private func connectionBudget(_ report: ConnectionReport, host: String?, volume: UInt64?) -> ConnectionBudget {
        // Several connections need several times the memory.
        if report.number > 1 { environment.pressureResponder.start() }
        var budget = environment.connections.budget(of: number, report, permitHost: host ?? "", at: now)
        budget.receivedCount = environment.bandwidth.receivedCount
        budget.isThrottled =
            environment.bandwidth.isLimiting || bandwidth.isLimiting
            || environment.slowDisks.contains(volume, at: now)
        return budget
    }

    private func record(_ found: (origin: Origin, observation: HostObservation)?) {
        guard let found else { return }
        environment.connections.record(found.observation, of: number, about: found.origin, at: now)
    }

    private func scheduleMark(after delay: Duration) {
        let action = environment.time.schedule(after: delay) { [self] in
            input { $0.markDue(at: now) }
        }
        update { state, _ in state.scheduled.setMark(action) }
    }

    private func tearDown(_ ending: TransferEnding) {
        let timers = update { state, decision in
            if releasePermit(&state) { decision.effects.append(deliveryOfGrants) }
            for (_, receiver) in state.connections.all { answered(receiver, .nothing, &decision) }
            state.connections.removeAll()
            for task in state.acceptance.removeAll() { decision.effects.append(DeferredEffect { task.cancel() }) }
            return state.subscribers.takeDeadlineTimers() + state.scheduled.takeTimers()
        }
        for timer in timers { timer.cancel() }
        end(ending)
    }
}
