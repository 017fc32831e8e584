internal import Foundation

/// The subscribers' decisions about a response, before any byte of its body counts (rule 66).
extension ActiveTransfer {
    /// Asks the subscribers about the response of an exchange; subscribers that refuse it are detached.
    ///
    /// - Returns: Whether the body has to be held back until a subscriber's closure has accepted the response.
    func propose(
        _ head: ResponseHead, exchange id: ExchangeID, _ state: inout State, _ decision: inout Decision
    ) -> Bool {
        guard state.subscribers.mayRefuse(head),
            let candidate = state.machine.candidate(of: head, exchange: id, date: environment.time.date)
        else { return false }
        let continues = head.statusCode == 206 && !state.machine.bytes.intervals.isEmpty
        for task in state.acceptance.begin(candidate, continues: continues) {
            decision.effects.append(DeferredEffect { task.cancel() })
        }
        for (subscriber, request) in state.activeRequests where state.acceptance.mustAsk(subscriber) {
            ask(subscriber, request, about: candidate, &state, &decision)
        }
        if state.subscribers.isEmpty, let last = state.subscribers.lastDetached,
            !state.acceptance.hasRefused(last.id), !state.acceptance.hadAccepted(last.id),
            last.request.responseValidation != nil || last.request.refusal(of: candidate) != nil
        {
            // The transfer continues without subscribers, on behalf of a detached one whose closure can't be called
            // anymore.
            decision.actions += state.machine.stop(.abandon, at: now)
        }
        guard !state.acceptance.permitsBody, state.machine.awaitAcceptance(of: head, exchange: id) else { return false }
        state.acceptance.hold(id)
        return true
    }

    /// Asks a newly attached subscriber about the response that the others have accepted or are being asked about.
    func proposeAccepted(
        to id: SubscriberID, _ request: DownloadRequest, _ state: inout State, _ decision: inout Decision
    ) {
        // The bytes don't yet belong to an accepted response whose body is still held back.
        let isCurrent = state.acceptance.isPending || state.acceptance.holdsBody
        guard let candidate = isCurrent ? state.acceptance.candidate : state.machine.acceptedCandidate,
            isCurrent || request.hasResponseConditions || candidate.mediaType?.isHTML == true
        else { return }
        if !isCurrent { _ = state.acceptance.begin(candidate, continues: true) }
        ask(id, request, about: candidate, &state, &decision)
        if state.acceptance.holdsBody, state.acceptance.permitsBody {
            decision.effects.append(DeferredEffect { [self] in continueAccepted() })
        }
    }

    private func ask(
        _ id: SubscriberID, _ request: DownloadRequest, about candidate: CandidateResponse, _ state: inout State,
        _ decision: inout Decision
    ) {
        if let error = request.refusal(of: candidate) {
            refuse(id, error, &state, &decision)
        } else if let validation = request.responseValidation {
            let number = state.acceptance.validate(id)
            decision.effects.append(
                DeferredEffect { [self] in validate(candidate.head, by: validation, for: id, number: number) })
        } else {
            state.acceptance.accept(id)
        }
    }

    private func refuse(
        _ id: SubscriberID, _ error: DownloadError, _ state: inout State, _ decision: inout Decision
    ) {
        state.acceptance.refuse(id)
        // This isn't a cancellation: regardless of the abandonment policy, the bytes of earlier runs are kept.
        detach(id, .failure(error), policy: .pause, &state, &decision, at: now)
    }

    /// Calls the closure of a subscriber.
    ///
    /// The closure is asynchronous, but effects are not. One task exists for each representation and subscriber with a
    /// closure; the state keeps the task so that it can be canceled.
    private func validate(
        _ head: ResponseHead, by validation: ResponseValidation, for id: SubscriberID, number: Int
    ) {
        let task = Task { [self] in
            var refusal: DownloadError?
            do {
                try await validation.body(head)
            } catch {
                refusal = DownloadError(.responseRefused, underlyingError: error).concerning(head)
            }
            validated(id, number: number, refusal)
        }
        if !updateQuietly({ $0.acceptance.started(task, id, number: number) }) { task.cancel() }
    }

    private func validated(_ id: SubscriberID, number: Int, _ refusal: DownloadError?) {
        update { state, decision in
            // The subscriber may have ended, or a response of another representation may have arrived.
            guard state.acceptance.ended(id, number: number) else { return }
            if let refusal {
                refuse(id, refusal, &state, &decision)
            } else {
                state.acceptance.accept(id)
            }
            decision.effects.append(DeferredEffect { [self] in continueAccepted() })
        }
    }

    /// Stops asking a subscriber that is being detached.
    func stopAsking(_ id: SubscriberID, _ state: inout State, _ decision: inout Decision) {
        let isPending = state.acceptance.isPending(id)
        let task = state.acceptance.remove(id)
        guard isPending else { return }
        decision.effects.append(
            DeferredEffect { [self] in
                task?.cancel()
                continueAccepted()
            })
    }

    /// Continues with the response when a subscriber has accepted it, and with the delivery of the file when no closure
    /// is running.
    ///
    /// This is a separate input, so that the end of the last subscriber has already stopped the transfer.
    private func continueAccepted() {
        let gate = update { state, decision in
            if let id = state.acceptance.takeHeldExchange() {
                let date = environment.time.date
                var (reply, actions) = state.machine.proposalAccepted(exchange: id, at: now, date: date)
                decision.actions += actions
                endOversized(&state, &decision, at: now)
                // The remaining subscribers may be paused, which has stopped the exchange.
                if state.machine.phase != .preparing { reply = .proceed }
                if case .start(let representation) = reply {
                    decision.actions.append(.startPartial(representation, exchange: id))
                }
            }
            return state.acceptance.takeGate()
        }
        gate?.open()
    }
}

extension SubscriberSet {
    /// Returns whether a subscriber may refuse a response with this head, so that it has to be examined.
    fileprivate func mayRefuse(_ head: ResponseHead) -> Bool {
        active.contains { $0.subscriber.request.hasResponseConditions }
            || isEmpty && lastDetached?.request.hasResponseConditions == true
            || MediaType(head.headers.first("Content-Type"))?.isHTML == true
    }
}

/// The subscribers' decisions about redirects.
extension ActiveTransfer {
    /// Returns the subscribers that refuse a redirect, with the errors that end them.
    func redirectRefusals(_ head: ResponseHead, from source: URL) -> [(id: SubscriberID, error: DownloadError)] {
        guard head.status.isRedirect else { return [] }
        let deciding = withState { state in
            state.subscribers.active.compactMap { active in
                active.subscriber.request.shouldFollowRedirect.map { (id: active.id, decide: $0) }
            }
        }
        guard !deciding.isEmpty,
            case .success(let target) = Redirect.target(
                location: head.headers.singleton("Location").value, relativeTo: source)
        else { return [] }
        let proposal = RedirectProposal(from: source, to: target, statusCode: head.status.code)
        return deciding.filter { !$0.decide(proposal) }.map { active in
            (active.id, DownloadError(.redirectRefused, "the request doesn't permit a redirect to \(target.redacted)"))
        }
    }

    /// Asks a newly attached subscriber about the redirects that led to the present response, and ends it if it refuses
    /// one.
    func proposeFollowedRedirects(to id: SubscriberID, _ request: DownloadRequest) {
        guard let decide = request.shouldFollowRedirect else { return }
        let hops = withState { $0.machine.followedRedirects }
        guard let refused = hops.first(where: { !decide($0) }) else { return }
        let error = DownloadError(
            .redirectRefused, "the request doesn't permit a redirect to \(refused.target.redacted)")
        update { state, decision in detach(id, .failure(error), policy: .pause, &state, &decision, at: now) }
    }
}

extension TransferStateMachine {
    /// The redirects that led to the representation, or, if none exists, to the present request.
    fileprivate var followedRedirects: [RedirectProposal] {
        let heads = bytes.responses.isEmpty ? address.redirects.responses : bytes.responses
        let targets = heads.dropFirst().map(\.url) + (bytes.responses.isEmpty ? [address.url] : [])
        return zip(heads, targets).map { head, target in
            RedirectProposal(from: head.url, to: target, statusCode: head.statusCode)
        }
    }
}
