/// Calls to the scheduler, made while the transfer's lock is held.
extension ActiveTransfer {
    func requestPermit(host: String, _ id: PermitRequestID, _ state: inout State) {
        let priority = state.subscribers.priority
        let ticket = environment.scheduler.request(
            host: host, priority: priority, place: state.permit.place, for: self)
        state.permit.requested(ticket, as: id, priority: priority)
    }

    /// Moves the permit to another host, and returns the actions that follow.
    func movePermit(to host: String, _ id: PermitRequestID, _ state: inout State) -> [TransferAction] {
        guard let ticket = state.permit.ticket else { preconditionFailure("a move without a permit") }
        if environment.scheduler.move(ticket, to: host) {
            state.permit.moved(as: id)
            return state.machine.permitGranted(id, at: now)
        }
        state.permit.take()
        return state.machine.moveRefused(id, at: now)
    }

    /// Lets other transfers use the permit and the connections while this one, which needs no further request, waits.
    func yieldPermit() {
        update { state, decision in
            // The race with the end, if the file was placed at once.
            guard state.machine.phase == .finishing, let ticket = state.permit.ticket else { return }
            environment.scheduler.yield(ticket)
            decision.effects.append(deliveryOfGrants)
        }
    }

    /// Releases the permit, or withdraws the request for one, and returns whether there was one.
    func releasePermit(_ state: inout State) -> Bool {
        guard let ticket = state.permit.take() else { return false }
        environment.scheduler.release(ticket)
        return true
    }

    /// Begins the request of an exchange, or returns the actions that follow if its host permits none now.
    func beginRequest(_ id: ExchangeID, _ request: ExchangeRequest, _ state: inout State) -> [TransferAction]? {
        // An exchange that was canceled in the same step needs no permit.
        guard !state.machine.isCanceled(id) else {
            return state.machine.requestHeld(id, at: now)
        }
        let begun: BegunRequest?
        if state.machine.isExtra(id) {
            begun = environment.scheduler.beginExtra(host: RedirectChain.host(of: request.url))
        } else {
            guard let ticket = state.permit.ticket, let host = state.machine.permitHost else {
                preconditionFailure("a request without a permit")
            }
            begun = environment.scheduler.begin(ticket, host: host)
            if begun == nil { state.permit.take() }
        }
        guard let begun else { return state.machine.requestHeld(id, at: now) }
        state.connections.begin(id, ExchangeReceiver(transfer: self, exchange: id, request: begun))
        return nil
    }

    /// Reports what a head, or an end without a head, says about the limits of the host.
    func answered(_ receiver: ExchangeReceiver, _ head: ResponseHead?, _ state: State, _ decision: inout Decision) {
        guard let request = receiver.takeRequest() else { return }
        let longest = state.machine.policies.retryPolicy.maximumRetryAfter
        let answer = head.map { HostLimit.Answer($0, longest: longest, date: environment.time.date) } ?? .nothing
        if environment.scheduler.answered(request, answer) { decision.effects.append(deliveryOfGrants) }
    }

    /// Asks the other files of the host to give up their further connections, if the host refuses the only one of this
    /// transfer.
    ///
    /// - Parameter isResponse: Whether the host has refused it by a response, and not by the loss of the connection.
    func makeRoom(forRequestOf id: ExchangeID, isResponse: Bool, _ state: inout State) {
        guard state.machine.isOnlyRequest(id), let origin = Origin(state.machine.address.redirects.current),
            environment.connections.makeRoom(for: number, at: origin, isResponse: isResponse, at: now)
        else { return }
        state.machine.madeRoom()
    }

    /// Passes the present priority of the subscribers to the scheduler.
    func updatePriority(_ state: inout State) {
        let priority = state.subscribers.priority
        guard !state.subscribers.isEmpty, let ticket = state.permit.setPriority(priority) else { return }
        environment.scheduler.setPriority(priority, of: ticket)
    }

    /// An effect to be added after every call to the scheduler.
    var deliveryOfGrants: DeferredEffect { environment.scheduler.deliveryOfGrants }
}

extension HostLimit.Answer {
    /// - Parameter longest: The longest `Retry-After` that is respected in full (rule 37).
    init(_ head: ResponseHead, longest: Duration, date: @autoclosure () -> HTTPDate) {
        guard head.status.asksForFewerRequests else {
            self = head.status.isRetryable ? .nothing : .accepted
            return
        }
        let date = date()
        let retryAfter = RetryAfter(head, now: date)?.delay(now: date)
        self = .refused(retryAfter: retryAfter.map { min($0, longest) })
    }
}

extension ActiveTransfer: PermitReceiver {
    func permitGranted(_ ticket: PermitQueue.Ticket) {
        let now = now
        update { state, decision in
            // The race of a grant with a release.
            guard let id = state.permit.id(of: ticket) else { return }
            decision.actions += state.machine.permitGranted(id, at: now)
        }
    }
}
