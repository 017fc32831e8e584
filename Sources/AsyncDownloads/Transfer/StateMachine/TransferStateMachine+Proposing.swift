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
