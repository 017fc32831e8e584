/// Calls to the scheduler, made while the transfer's lock is held.
extension ActiveTransfer {
    func requestPermit(
        _ origins: OriginPair, _ id: PermitRequestID, _ state: inout State, _ decision: inout Decision
    ) {
        let (priority, retryLimit) = state.permitTerms
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
        environment.scheduler.release(ticket, isRetried: state.machine.phase.isBeforeRetry)
        return true
    }

    /// Begins the request of an exchange, or returns the resulting actions if its origin currently permits no request.
    func beginRequest(
        _ id: ExchangeID, _ request: ExchangeRequest, _ state: inout State, _ decision: inout Decision
    ) -> [TransferAction]? {
        // An exchange that was canceled in the same step needs no permit.
        guard !state.machine.isCanceled(id) else {
            return state.machine.requestHeld(id, at: now)
        }
        let begun: PermitQueue.Begun?
        if state.machine.isExtra(id) {
            begun = environment.scheduler.beginExtra(state.machine.extraOrigins)
            if begun == nil { decision.effects.append(deliveryOfGrants) }
        } else {
            guard let ticket = state.permit.ticket else { preconditionFailure("a request without a permit") }
            let isNextEarlier: Bool
            (begun, isNextEarlier) = environment.scheduler.begin(ticket, request.url)
            if isNextEarlier { decision.effects.append(deliveryOfGrants) }
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
    func answered(
        _ receiver: ExchangeReceiver, _ head: ResponseHead, _ state: inout State, _ decision: inout Decision
    ) {
        let policy = state.machine.policies.retryPolicy
        let consequence = answered(
            receiver, RequestAnswer(head, of: receiver.url, policy: policy, date: environment.time.date),
            status: head.status, &decision)
        if consequence.concernsOrigin { state.machine.originFailed(at: now) }
    }

    /// Reports the answer to a request once, and returns its consequence.
    @discardableResult
    func answered(
        _ receiver: ExchangeReceiver, _ answer: RequestAnswer, status: StatusCode? = nil,
        _ decision: inout Decision
    ) -> PermitQueue.Consequence {
        guard let request = receiver.takeRequest() else { return PermitQueue.Consequence() }
        let consequence = environment.scheduler.answered(request, answer, status: status)
        if consequence.permitsGrants { decision.effects.append(deliveryOfGrants) }
        return consequence
    }

    /// Asks the other files of the host to release their additional connections if the host refuses the only connection
    /// of this transfer.
    ///
    /// - Parameter isResponse: Whether the host has refused the request by a response, and not by the loss of the
    ///   connection.
    /// - Returns: Whether the other files release connections.
    @discardableResult
    func releaseExtras(forRequestOf id: ExchangeID, isResponse: Bool, _ state: inout State) -> Bool {
        guard state.machine.isOnlyRequest(id), let origin = Origin(state.machine.address.redirects.current),
            environment.connections.releaseExtras(for: number, at: origin, isResponse: isResponse, at: now)
        else { return false }
        state.machine.extrasWereReleased()
        return true
    }

    /// Passes the subscribers' present priority and number of permitted retries to the scheduler.
    func updatePriority(_ state: inout State, _ decision: inout Decision) {
        let (priority, retryLimit) = state.permitTerms
        guard !state.subscribers.isEmpty,
            let ticket = state.permit.setPriority(priority, retryLimit: retryLimit)
        else { return }
        environment.scheduler.setPriority(priority, retryLimit: retryLimit, of: ticket)
        decision.effects.append(deliveryOfGrants)
    }

    /// The effect that delivers new grants, to be added after calls to the scheduler that may grant a permit.
    ///
    /// The actions that request, move, or release a permit deliver the grants themselves.
    var deliveryOfGrants: DeferredEffect { environment.scheduler.deliveryOfGrants }
}

extension ActiveTransfer.State {
    /// The subscribers' present priority and number of permitted retries.
    fileprivate var permitTerms: (priority: DownloadRequest.Priority, retryLimit: Int) {
        (subscribers.priority, machine.policies.retryPolicy.maximumRetries)
    }
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
        let request = updateQuietly { state -> (id: PermitRequestID, credentials: HeaderFields)? in
            // The request may have been withdrawn at the same time.
            guard let id = state.permit.id(of: ticket) else { return nil }
            // The scheduler has removed the request.
            state.permit.take()
            return (id, state.machine.bytes.credentials)
        }
        guard let request else { return }
        guard mayServeWithoutRequest else { return fail(request.id, error) }
        queue.async { [self] in
            if !reuseWithoutRequest(request.credentials, refused: request.id) { fail(request.id, error) }
        }
    }

    private func fail(_ request: PermitRequestID, _ error: DownloadError) {
        update { state, decision in
            decision.actions += state.machine.permitRefused(request, error, at: now)
        }
    }
}
