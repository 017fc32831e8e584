/// Extra exchanges, which fetch parts of the file while another exchange receives (rules 8, 23, 52, 53, and 58).
extension TransferStateMachine {
    /// Starts extra exchanges, as many as are worth it now.
    mutating func startExtras(at now: Duration) -> [TransferAction] {
        guard extras.number > plan.segments.count + plan.requests.count, isDivisible, !address.hasExpired(at: now),
            let representation = bytes.representation,
            let length = representation.length,
            var terms = extras.terms(plan, missing: length - bytes.count, at: now)
        else { return [] }
        terms.window = strategy.window
        let validator = extras.dropsCondition ? nil : representation.validator
        var actions: [TransferAction] = []
        for range in plan.requestRanges(terms, received: bytes.intervals, at: now) {
            let request = RequestedRange.segment(range, validator: validator)
            actions += send(ExchangeProgress(request: request, isExtra: true, at: now), at: now)
        }
        return actions
    }

    /// Whether parts of the file may be fetched at the same time.
    private var isDivisible: Bool {
        guard case .exchanging = state, intent == .run, demands.wantsFile, bytes.comparison == nil,
            let representation = bytes.representation
        else { return false }
        // A later attempt continues after the first bytes, which must not be a hole.
        return representation.validator != nil && representation.contentCoding == nil
            && representation.unverifiedFrom == nil && !bytes.needsConfirmation && bytes.intervals.prefixEnd > 0
            && !bytes.isComplete && exchanges.all.contains { $0.exchange.isReceiving && !$0.exchange.isCanceled }
    }

    /// Records the range of a request in the plan, and sends it.
    mutating func send(_ exchange: ExchangeProgress, at now: Duration) -> [TransferAction] {
        let id = exchanges.add(exchange)
        if !exchange.compares {
            let end = exchange.request.range?.last.map { $0 + 1 } ?? bytes.representation?.length ?? .max
            plan.request(exchange.request.start..<max(end, exchange.request.start), by: id, at: now)
        }
        let fields = address.redirects.headers(address.headers, adding: exchange.request.fields)
        return [.startExchange(id, ExchangeRequest(url: address.url, headers: fields))]
    }

    /// Cancels one exchange; those before it take its bytes over.
    mutating func cancelExchange(_ id: ExchangeID, at now: Duration) -> [TransferAction] {
        plan.cancel(id)
        exchanges.update(id) { $0.cancel(at: now) }
        return [.cancelExchange(id)]
    }

    /// Cancels the exchanges that are not worth their connection any more.
    ///
    /// - Every extra exchange without a head, when no byte is missing.
    /// - An exchange that has nothing left to write, unless its body ends soon.
    /// - The newest ones, where there are more than the controller permits.
    mutating func cancelUseless(at now: Duration) -> [TransferAction] {
        guard case .exchanging = state else { return [] }
        var useless = bytes.isComplete ? plan.requests.keys.sorted { $0.rawValue < $1.rawValue } : []
        useless += plan.exhausted(bytes.intervals).filter { ($0.surplus ?? 0) > settings.segmentLimits.longestSurplus }
            .map(\.exchange)
        var actions: [TransferAction] = []
        for id in useless { actions += cancelExchange(id, at: now) }
        // Where no further ones are started, those that were accepted continue.
        guard !extras.isOff else { return actions }
        let newest = plan.segments.map(\.exchange).sorted { $0.rawValue > $1.rawValue }
        for id in newest.prefix(max(0, plan.segments.count - extras.number)) {
            actions += cancelExchange(id, at: now)
        }
        return actions
    }
}

// MARK: - Heads

extension TransferStateMachine {
    /// Does what the head of an extra exchange was found to mean.
    mutating func handleExtra(
        _ decision: SegmentDecision, _ id: ExchangeID, at now: Duration
    ) -> [TransferAction] {
        switch decision {
        case .accept(let end):
            return acceptExtra(id, end: end, at: now)
        case .changed where extras.sawDifference():
            // Rule 52: no exchange continues; the next request, under If-Range, shows which object there is.
            extras.turnOff()
            return drain(.advance, at: now)
        case .changed:
            return cancelExchange(id, at: now) + startExtras(at: now)
        case .retryWithoutCondition:
            extras.dropCondition()
            return cancelExchange(id, at: now) + startExtras(at: now)
        case .ignoresRanges, .unusable, .redirect:
            extras.turnOff()
            return cancelExchange(id, at: now) + cancelUnanswered(at: now)
        case .denied:
            return refuseExtra(id, retryAfter: nil, at: now)
        case .refused(let retryAfter):
            return refuseExtra(id, retryAfter: retryAfter, at: now)
        }
    }

    private mutating func acceptExtra(_ id: ExchangeID, end: Int64, at now: Duration) -> [TransferAction] {
        guard let exchange = exchanges[id] else { preconditionFailure("an unknown extra exchange was accepted") }
        let acceptance = plan.accept(
            id, from: exchange.request.start, responseEnd: end, length: bytes.representation?.length,
            received: bytes.intervals, at: now)
        switch acceptance {
        case .late:
            exchanges.update(id) { $0.cancel(at: now) }
            return [.cancelExchange(id)]
        case .segment:
            exchanges.update(id) { $0.accept(skipping: 0, end: end) }
            extras.accepted()
            return cancelUseless(at: now)
        }
    }

    /// Rule 58: a refusal reduces the number of exchanges, and doesn't concern those that were accepted.
    mutating func refuseExtra(_ id: ExchangeID, retryAfter: Duration?, at now: Duration) -> [TransferAction] {
        let actions = exchanges[id] == nil ? [] : cancelExchange(id, at: now)
        extras.refused(aliveCount: plan.segments.count, retryAfter: retryAfter, at: now)
        return actions + cancelUnanswered(at: now)
    }

    /// Cancels the extra exchanges without a head.
    private mutating func cancelUnanswered(at now: Duration) -> [TransferAction] {
        plan.requests.keys.sorted { $0.rawValue < $1.rawValue }.flatMap { cancelExchange($0, at: now) }
    }
}

// MARK: - Ends

extension TransferStateMachine {
    /// Whether the end of an exchange leaves others that receive, so that it isn't a failure of the transfer.
    func isSpare(_ id: ExchangeID) -> Bool {
        exchanges.all.contains { $0.id != id && $0.exchange.isReceiving && !$0.exchange.isCanceled }
    }

    /// Handles the end of an exchange while others receive, which have taken its bytes over.
    mutating func spareEnded(
        _ exchange: ExchangeProgress, _ id: ExchangeID, at now: Duration
    ) -> [TransferAction] {
        let hasBroughtNothing = exchange.position == exchange.request.start
        plan.ended(id)
        if exchange.isExtra, !exchange.isCanceled, hasBroughtNothing {
            return refuseExtra(id, retryAfter: nil, at: now)
        }
        return cancelUseless(at: now) + startExtras(at: now)
    }
}

// MARK: - Time

extension TransferStateMachine {
    /// Measures the rate, and replaces the extra exchanges that have stalled while others receive.
    mutating func checkExtras(at now: Duration) -> [TransferAction] {
        var actions: [TransferAction] = []
        if extras.isMeasuring, let length = bytes.representation?.length {
            extras.measure(plan, fetchedCount: meter.fetched, remaining: length - bytes.count, at: now)
            actions += cancelUseless(at: now)
        }
        for (id, exchange) in exchanges.all where !exchange.isCanceled && !exchange.isWriting && isSpare(id) {
            if exchange.isExtra, !exchange.isReceiving, now - exchange.lastActivity >= extras.patience(plan) {
                actions += refuseExtra(id, retryAfter: nil, at: now)
            } else if exchange.isReceiving, exchange.idleTime >= stallTime {
                actions += cancelExchange(id, at: now)
            }
        }
        return actions + startExtras(at: now)
    }

    private var stallTime: Duration { min(ExtraExchanges.stallTime, demands.idleTimeout ?? ExtraExchanges.stallTime) }

    /// Gives up on canceled exchanges whose end doesn't come.
    mutating func abandonCanceled(at now: Duration) -> [TransferAction] {
        guard let limit = demands.idleTimeout else { return [] }
        return exchanges.all.filter { _, exchange in
            exchange.canceledAt.map { now - $0 >= limit } ?? false && !exchange.isWriting
        }.map { .abandonExchange($0.id) }
    }
}
