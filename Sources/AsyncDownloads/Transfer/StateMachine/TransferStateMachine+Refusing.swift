internal import struct Foundation.Data

/// Responses that refuse a request, and the first bytes of their bodies.
extension TransferStateMachine {
    /// The maximum time to wait for the rest of a refusal's body.
    private static let longestRefusalTime = Duration.seconds(5)

    /// Returns whether the body of the exchange belongs to the pending error.
    func awaitsRefusal(_ id: ExchangeID) -> Bool {
        guard isRunning, case .draining(let followUp) = run.step, followUp.error?.isRefusal == true
        else { return false }
        return run.exchanges[id]?.isCanceled == false
    }

    /// Adds the first bytes of the response's body to the error of a refusal.
    mutating func receivedRefusal(_ body: Data) {
        guard isRunning, case .draining(let followUp) = run.step else { return }
        run.step = .draining(followUp.withResponseBody(body))
    }

    /// Cancels the exchange of a refusal if its body takes too long.
    mutating func cancelLongRefusal(at now: Duration) -> [TransferAction] {
        guard case .draining(let followUp) = run.step, followUp.error?.isRefusal == true,
            run.exchanges.all.contains(where: {
                !$0.exchange.isCanceled && now - $0.exchange.lastActivity >= Self.longestRefusalTime
            })
        else { return [] }
        return run.cancelExchanges(at: now)
    }

    /// Fails or retries because of a response.
    mutating func refuse(
        _ error: DownloadError, _ head: ResponseHead, hasShortBody: Bool, at now: Duration
    ) -> [TransferAction] {
        let error = error.concerning(head)
        // The body of the last attempt is awaited, because no other request follows.
        let isAwaited = hasShortBody || error.isRefusal && isLastAttempt(error)
        return drain(error.isRetryable ? .retry(error) : .fail(error), canceling: !isAwaited, at: now)
    }

    /// Returns whether no attempt follows after a failure.
    private func isLastAttempt(_ error: DownloadError) -> Bool {
        var budget = budget
        return budget.nextAttempt(after: error, policy: policies.retryPolicy, received: bytes.count) == nil
    }
}

extension DownloadError {
    /// Whether the error was caused by a response whose body may describe it.
    fileprivate var isRefusal: Bool { response?.status.isSuccess == false }
}

extension Run.DrainFollowUp {
    /// The error of the failure, or of the attempt that is retried.
    fileprivate var error: DownloadError? {
        switch self {
        case .fail(let error), .retry(let error): error
        case .advance, .refresh, .awaitOrigin, .reuse, .relocate: nil
        }
    }

    /// Returns the same step, with the first bytes of the body in its error if the error was caused by a response.
    fileprivate func withResponseBody(_ body: Data) -> Self {
        guard var error, error.isRefusal else { return self }
        error.responseBody = body
        if case .retry = self { return .retry(error) }
        return .fail(error)
    }
}

/// Responses that the subscribers may refuse before any byte of their bodies counts (rule 66).
extension TransferStateMachine {
    /// Returns the response for the subscribers' decision, if it would start a representation or continue the bytes;
    /// nil for any other response.
    func candidate(of head: ResponseHead, exchange id: ExchangeID, date: HTTPDate) -> CandidateResponse? {
        guard let exchange = liveExchange(id), case .connecting = exchange.phase, !exchange.isCanceled,
            !exchange.isExtra, !exchange.compares
        else { return nil }
        let representation: Representation
        switch interpreter(of: exchange, date: date).decide(head) {
        case .begin(let new, _, _): representation = new
        case .append(let continuation): representation = continuation.representation
        case .complete, .unchanged, .retryRequest, .redirect, .fail: return nil
        }
        return CandidateResponse(
            head: head.withoutSecrets, representation: representation,
            earlierTypes: [bytes.representation?.contentType, run.existing?.representation.contentType])
    }

    /// The accepted response, for a subscriber that attaches later; nil if no response was accepted.
    var acceptedCandidate: CandidateResponse? {
        guard let head = bytes.responses.last, let representation = bytes.representation else { return nil }
        return CandidateResponse(head: head, representation: representation)
    }

    /// Holds back the body of an exchange until the subscribers have accepted or refused its head.
    ///
    /// - Returns: Whether the exchange is still needed.
    mutating func awaitAcceptance(of head: ResponseHead, exchange id: ExchangeID) -> Bool {
        guard let exchange = liveExchange(id), !exchange.isCanceled else { return false }
        run.exchanges.update(id) { $0.propose(head) }
        return true
    }

    /// Handles the head of an exchange that the remaining subscribers have accepted.
    mutating func proposalAccepted(
        exchange id: ExchangeID, at now: Duration, date: HTTPDate
    ) -> (reply: HeadReply, actions: [TransferAction]) {
        // Otherwise, the transfer was stopped at the same time as the last decision.
        guard liveExchange(id)?.isCanceled == false,
            let proposed = run.exchanges.update(id, { $0.takeProposed() }) ?? nil
        else { return (.proceed, []) }
        var (reply, actions) = headArrived(proposed.head, exchange: id, at: now, date: date)
        if let end = proposed.end, isRunning, run.exchanges[id] != nil {
            actions += exchangeEnded(end, exchange: id, at: now)
        }
        if reply == .proceed { actions.append(.openGate(exchange: id)) }
        return (reply, actions)
    }
}
