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
        case .openGate(let id): receiver(of: id)?.openGate(isPaced: false)
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

/// Calls to the scheduler, made while the transfer's lock is held.
extension ActiveTransfer {
    func requestPermit(
        _ origins: OriginPair, _ id: PermitRequestID, _ state: inout State, _ decision: inout Decision
    ) {
        let (priority, retryLimit) = (state.subscribers.priority, state.machine.policies.retryPolicy.maximumRetries)
        let ticket = environment.scheduler.request(
            origins, state.machine.address.url, priority: priority, place: state.permit.place, retryLimit: retryLimit,
            for: self)
        state.permit.requested(ticket, as: id, priority: priority, retryLimit: retryLimit)
        if let reason = waitingReason(state) {
            decision.effects += state.subscribers.emit(.waiting(reason: reason))
        }
    }

    /// Returns the reason why the transfer is waiting for its permit; nil if it is only queued, or has a permit.
    func waitingReason(_ state: State) -> WaitingReason? { state.permit.ticket.flatMap(environment.waitingReason) }

    /// Moves the permit to another origin, and returns the resulting actions.
    func movePermit(to origins: OriginPair, _ id: PermitRequestID, _ state: inout State) -> [TransferAction] {
        guard let ticket = state.permit.ticket else { preconditionFailure("a move without a permit") }
        if environment.scheduler.move(ticket, to: origins) {
            state.permit.moved(as: id)
            return state.machine.permitGranted(id, at: now)
        }
        state.permit.take()
        return state.machine.moveRefused(id, at: now)
    }

    /// Makes the permit and the connections available to other transfers, because this transfer needs no more requests.
    func yieldPermit() {
        update { state, decision in
            // The transfer may have ended, if the file was placed immediately.
            guard state.machine.phase == .finishing, let ticket = state.permit.ticket else { return }
            environment.scheduler.yield(ticket)
            decision.effects.append(deliveryOfGrants)
        }
    }

    /// Releases the permit or withdraws the request for one, and returns whether either existed.
    func releasePermit(_ state: inout State) -> Bool {
        guard let ticket = state.permit.take() else { return false }
        environment.scheduler.release(ticket)
        return true
    }

    /// Begins the request of an exchange, or returns the resulting actions if its origin currently permits no request.
    func beginRequest(_ id: ExchangeID, _ request: ExchangeRequest, _ state: inout State) -> [TransferAction]? {
        // An exchange that was canceled in the same step needs no permit.
        guard !state.machine.isCanceled(id) else {
            return state.machine.requestHeld(id, at: now)
        }
        let begun: PermitQueue.Begun?
        if state.machine.isExtra(id) {
            begun = environment.scheduler.beginExtra(state.machine.extraOrigins)
        } else {
            guard let ticket = state.permit.ticket else { preconditionFailure("a request without a permit") }
            begun = environment.scheduler.begin(ticket, request.url)
            if begun == nil { state.permit.take() }
        }
        guard let begun else { return state.machine.requestHeld(id, at: now) }
        let measurement = environment.configuration.onExchange.map { observer in
            ExchangeMeasurement(state.machine.record(of: id, to: request.url), observer, environment.time)
        }
        state.connections.begin(
            id,
            ExchangeReceiver(
                transfer: self, exchange: id, url: request.url, request: begun, measurement: measurement))
        return nil
    }

    /// Reports the meaning of a head for the origin and its host.
    func answered(_ receiver: ExchangeReceiver, _ head: ResponseHead, _ state: State, _ decision: inout Decision) {
        let longest = state.machine.policies.retryPolicy.maximumRetryAfter
        answered(
            receiver, RequestAnswer(head, of: ResourceID(receiver.url), longest: longest, date: environment.time.date),
            &decision
        )
    }

    /// Reports the answer to a request once, and returns the next step after a failure to connect.
    @discardableResult
    func answered(
        _ receiver: ExchangeReceiver, _ answer: RequestAnswer, _ decision: inout Decision
    ) -> Outage.Step? {
        guard let request = receiver.takeRequest() else { return nil }
        let (permitsGrants, step) = environment.scheduler.answered(request, answer)
        if permitsGrants { decision.effects.append(deliveryOfGrants) }
        return step
    }

    /// Asks the other files of the host to release their additional connections if the host refuses the only connection
    /// of this transfer.
    ///
    /// - Parameter isResponse: Whether the host has refused the request by a response, and not by the loss of the
    ///   connection.
    /// - Returns: Whether the other files release connections.
    @discardableResult
    func makeRoom(forRequestOf id: ExchangeID, isResponse: Bool, _ state: inout State) -> Bool {
        guard state.machine.isOnlyRequest(id), let origin = Origin(state.machine.address.redirects.current),
            environment.connections.makeRoom(for: number, at: origin, isResponse: isResponse, at: now)
        else { return false }
        state.machine.madeRoom()
        return true
    }

    /// Passes the subscribers' present priority and number of permitted retries to the scheduler.
    func updatePriority(_ state: inout State, _ decision: inout Decision) {
        let (priority, retryLimit) = (state.subscribers.priority, state.machine.policies.retryPolicy.maximumRetries)
        guard !state.subscribers.isEmpty,
            let ticket = state.permit.setPriority(priority, retryLimit: retryLimit)
        else { return }
        environment.scheduler.setPriority(priority, retryLimit: retryLimit, of: ticket)
        decision.effects.append(deliveryOfGrants)
    }

    /// An effect to add after every call to the scheduler.
    var deliveryOfGrants: DeferredEffect { environment.scheduler.deliveryOfGrants }
}

extension ActiveTransfer: PermitReceiver {
    func permitGranted(_ ticket: PermitQueue.Ticket) {
        let now = now
        update { state, decision in
            // The permit may have been released at the same time.
            guard let id = state.permit.id(of: ticket) else { return }
            // A transfer that was just activated has no network path yet.
            state.machine.setPath(environment.network.path)
            decision.actions += state.machine.permitGranted(id, at: now)
        }
    }
    func originHindered(_ ticket: PermitQueue.Ticket) {
        update { state, decision in
            guard state.permit.ticket == ticket, let reason = waitingReason(state) else { return }
            decision.effects += state.subscribers.emit(.waiting(reason: reason))
        }
    }

    func permitRefused(_ ticket: PermitQueue.Ticket, _ error: DownloadError) {
        let now = now
        update { state, decision in
            // The request may have been withdrawn at the same time.
            guard let id = state.permit.id(of: ticket) else { return }
            // The scheduler has removed the request.
            state.permit.take()
            decision.actions += state.machine.permitRefused(id, error, at: now)
        }
    }
}
