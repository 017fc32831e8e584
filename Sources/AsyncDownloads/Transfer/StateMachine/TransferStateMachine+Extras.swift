/// Extra exchanges, which fetch parts of the file while another exchange receives (rules 8, 23, 52, 53, and 58).
extension TransferStateMachine {
    /// Starts extra exchanges, as many as are worth it now.
    mutating func startExtras(at now: Duration) -> [TransferAction] {
        extras.judgeRefusals(exchanges, at: now)
        guard extras.number > exchanges.count, isDivisible, isFlowing(at: now), !address.hasExpired(at: now),
            let representation = bytes.representation,
            let length = representation.length,
            var terms = extras.terms(exchanges, missing: length - bytes.count, at: now)
        else { return [] }
        terms.window = extras.window(strategy.window)
        if extraAddress.isRenewing {
            guard !exchanges.hasRequests else { return [] }
            terms.count = 1
        }
        let validator = extras.dropsCondition ? nil : representation.validator
        var actions: [TransferAction] = []
        for range in exchanges.requestRanges(terms, received: bytes.intervals, at: now) {
            let request = RequestedRange.segment(range, validator: validator)
            actions += send(ExchangeProgress(request: request, isExtra: true, length: length, at: now))
        }
        return actions
    }

    /// Whether parts of the file may be fetched at the same time.
    private var isDivisible: Bool {
        guard case .exchanging = state, intent == .run, demands.wantsFile, bytes.comparison == nil,
            let representation = bytes.representation
        else { return false }
        // Without a strong validator, only the expected digest shows that the parts are of one object; once.
        let mayCombineUnverified =
            settings.checksum != nil && !bytes.hasDigestMismatch && !bytes.hasDiscardedCombination
        let isVerifiable = representation.validator != nil || mayCombineUnverified
        // A later attempt continues after the first bytes, which must not be a hole.
        return isVerifiable && representation.length != nil && allowsGaps && representation.contentCoding == nil
            && representation.unverifiedFrom == nil && !bytes.needsConfirmation && bytes.intervals.prefixEnd > 0
            && !bytes.isComplete && exchanges.all.contains { $0.exchange.isReceiving && !$0.exchange.isCanceled }
    }

    /// Sends the request of an exchange.
    mutating func send(_ exchange: ExchangeProgress) -> [TransferAction] {
        let id = exchangeNumbers.next()
        exchanges.insert(exchange, id: id)
        let redirects = exchange.isExtra ? extraAddress.redirects(address.redirects) : address.redirects
        let fields = redirects.headers(address.headers, adding: exchange.request.fields)
        return [.startExchange(id, ExchangeRequest(url: redirects.current, headers: fields))]
    }

    /// Cancels one exchange, whose bytes the one before it receives if it can.
    mutating func cancelExchange(_ id: ExchangeID, at now: Duration) -> [TransferAction] {
        exchanges.cancel(id, at: now)
        return [.cancelExchange(id)]
    }

    /// Cancels the exchanges that are not worth their connection any more.
    ///
    /// - Every extra exchange without a head, when no byte is missing.
    /// - An exchange that has nothing left to write, unless its body ends soon. When no byte is missing, nothing but a
    ///   body that ends with its last written byte is waited for.
    /// - The newest ones, where there are more than the controller permits.
    mutating func cancelUseless(at now: Duration) -> [TransferAction] {
        guard case .exchanging = state else { return [] }
        var actions = bytes.isComplete ? cancelUnanswered(at: now) : []
        let longestSurplus = bytes.isComplete ? 0 : settings.segmentLimits.longestSurplus
        for (id, surplus) in exchanges.exhausted(bytes.intervals) where (surplus ?? 0) > longestSurplus {
            actions += cancelExchange(id, at: now)
        }
        let newest = exchanges.segments.map(\.exchange).sorted { $0.rawValue > $1.rawValue }
        for id in newest.prefix(max(0, newest.count - extras.permittedCount)) {
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
        case .changed:
            // The other requests were sent under the same condition.
            guard extras.sawDifference() else { return cancelExchange(id, at: now) + cancelUnanswered(at: now) }
            // Rule 52: no exchange continues; the next request, under If-Range, shows which object there is.
            extras.turnOff()
            return drain(.advance, at: now)
        case .retryWithoutCondition:
            extras.dropCondition()
            return cancelExchange(id, at: now)
        case .redirect(let location):
            if extraAddress.follow(location) { return cancelExchange(id, at: now) }
            extras.turnOff()
            return cancelExchange(id, at: now) + cancelUnanswered(at: now)
        case .denied:
            guard extraAddress.denied(address.redirects) else { return refuseExtra(id, retryAfter: nil, at: now) }
            // The other requests went to the same URL.
            return cancelExchange(id, at: now) + cancelUnanswered(at: now)
        case .ignoresRanges:
            extras.foundNoRanges()
            return cancelExchange(id, at: now) + cancelUnanswered(at: now)
        case .unusable:
            extras.turnOff()
            return cancelExchange(id, at: now) + cancelUnanswered(at: now)
        case .refused(let retryAfter):
            return refuseExtra(id, retryAfter: retryAfter, at: now)
        }
    }

    private mutating func acceptExtra(_ id: ExchangeID, end: Int64, at now: Duration) -> [TransferAction] {
        guard let exchange = exchanges[id] else { preconditionFailure("an unknown extra exchange was accepted") }
        // If nothing arrived for a while, the network may have been interrupted.
        let isMeasured = now - exchange.sentAt <= flowTime(at: now) ?? .zero
        let acceptance = exchanges.assign(
            from: exchange.request.start, responseEnd: end, length: bytes.representation?.length, to: id,
            received: bytes.intervals, isMeasured: isMeasured, at: now)
        switch acceptance {
        case .late:
            return cancelExchange(id, at: now)
        case .segment:
            exchanges.update(id) { $0.accept(skipping: 0, end: end) }
            extraAddress.accepted()
            if bytes.representation?.validator == nil { bytes.combinedUnverified() }
            extras.accepted(segmentCount: exchanges.segments.count)
            extras.judgeRefusals(exchanges, at: now)
            return cancelUseless(at: now)
        }
    }

    /// Rule 58: a refusal reduces the number of exchanges, and doesn't concern those that were accepted or that wait
    /// for their response.
    private mutating func refuseExtra(_ id: ExchangeID, retryAfter: Duration?, at now: Duration) -> [TransferAction] {
        let actions = cancelExchange(id, at: now)
        extras.refused(segmentCount: exchanges.segments.count, retryAfter: retryAfter, at: now)
        extras.judgeRefusals(exchanges, at: now)
        return actions
    }

    /// Cancels the extra exchanges without a head.
    private mutating func cancelUnanswered(at now: Duration) -> [TransferAction] {
        exchanges.requestIDs.flatMap { cancelExchange($0, at: now) }
    }
}

// MARK: - Ends

extension TransferStateMachine {
    /// Returns whether other exchanges receive.
    func othersReceive(besides id: ExchangeID) -> Bool {
        exchanges.all.contains { $0.id != id && $0.exchange.isReceiving && !$0.exchange.isCanceled }
    }

    /// Returns whether the end of an exchange says nothing about the transfer.
    ///
    /// - It was canceled.
    /// - It is an extra one without a head, whose bytes another one receives or the next request asks for.
    /// - It has ended early while others receive, which continue with its bytes or are joined by a new request.
    /// - It is an extra one that has ended early as the last one. The request that follows shows whether the failure is
    ///   one of the transfer.
    func isHarmless(_ end: ExchangeEnd, of exchange: ExchangeProgress, _ id: ExchangeID) -> Bool {
        if exchange.isCanceled { return true }
        switch exchange.phase {
        case .connecting: return exchange.isExtra || othersReceive(besides: id)
        case .receiving: return (exchange.isExtra || othersReceive(besides: id)) && exchange.isPremature(end)
        case .preparing, .endedEarly: return false
        }
    }

    /// Handles an end that says nothing about the transfer.
    mutating func handleHarmlessEnd(
        _ exchange: ExchangeProgress, _ id: ExchangeID, at now: Duration
    ) -> [TransferAction] {
        // An exchange that breaks soon is like one that is refused: another one would break as well.
        let hasBroughtLittle = exchange.position - exchange.request.start < ExtraExchanges.shortResponse
        let hasBroughtAll = exchanges.isExhausted(id, bytes.intervals)
        let isRefused = exchange.isExtra && !exchange.isCanceled && hasBroughtLittle && !hasBroughtAll
        let counts = exchange.isReceiving || countsRefusal(exchange, at: now)
        exchanges.remove(id)
        if isRefused, counts { extras.refused(segmentCount: exchanges.segments.count, retryAfter: nil, at: now) }
        if exchanges.isEmpty {
            extras.judgeRefusals(exchanges, at: now)
            return proceed(.advance, at: now)
        }
        return cancelUseless(at: now) + startExtras(at: now)
    }

    /// Whether the missing response to an extra request is a refusal, and not the loss of the network: other exchanges
    /// have received meanwhile.
    private func countsRefusal(_ exchange: ExchangeProgress, at now: Duration) -> Bool {
        isFlowing(at: now) || extras.flow.hasArrived(since: exchange.sentAt)
    }
}

// MARK: - Time

extension TransferStateMachine {
    /// Returns what the downloader needs to know for the next check; nil if the number of exchanges isn't measured.
    func connectionReport(at now: Duration) -> ConnectionReport? {
        guard case .exchanging = state else { return nil }
        return extras.report(exchanges, isDivisible: isDivisible, at: now)
    }

    /// Measures the rate, and cancels the exchanges that have stalled.
    ///
    /// - Parameter connections: What the downloader knows; nil if no ``connectionReport(at:)`` was made.
    mutating func checkExtras(_ connections: ConnectionBudget?, at now: Duration) -> [TransferAction] {
        var actions: [TransferAction] = []
        if extras.isMeasuring(exchanges), let connections, let length = bytes.representation?.length {
            extras.measure(
                exchanges, connections, remaining: length - bytes.count, mayRequest: !address.hasExpired(at: now), at: now)
            actions += cancelUseless(at: now)
        }
        for (id, exchange) in exchanges.all where !exchange.isCanceled && !exchange.isWriting {
            if exchange.isExtra, !exchange.isReceiving {
                if hasWaitedLong(exchange, id, at: now) {
                    let counts = countsRefusal(exchange, at: now)
                    actions += counts ? refuseExtra(id, retryAfter: nil, at: now) : cancelExchange(id, at: now)
                }
            } else if exchange.isReceiving, hasStalled(exchange, id, at: now) {
                actions += cancelExchange(id, at: now)
            }
        }
        return actions + startExtras(at: now)
    }

    /// Returns whether an exchange has received nothing for too long to be one of several.
    ///
    /// Others have to receive in the meantime, because the time may not be the server's. Extra exchanges that are left
    /// as the last ones are waited for longer, unless others have received since their last bytes.
    private func hasStalled(_ exchange: ExchangeProgress, _ id: ExchangeID, at now: Duration) -> Bool {
        guard exchange.idleTime >= stallTime else { return false }
        let isLast = !othersReceive(besides: id)
        if !isLast, let flowTime = flowTime(at: now) { return flowTime >= stallTime }
        guard hasOnlyExtras else { return false }
        // When the network is lost, the last bytes of several exchanges arrive at nearly the same time.
        let difference = isLast ? Duration.zero : Self.simultaneousTime
        let hasFlowed = extras.flow.hasArrived(since: exchange.lastActivity + difference)
        return hasFlowed || exchange.idleTime >= demands.idleTimeout ?? Self.lastExtraTime
    }

    /// Whether the first exchange, whose failure is one of the transfer, doesn't receive any more.
    private var hasOnlyExtras: Bool {
        exchanges.all.allSatisfy { $0.exchange.isExtra || !$0.exchange.isReceiving || $0.exchange.isCanceled }
    }

    /// Returns whether an extra exchange has waited too long for its head.
    ///
    /// While others don't receive either, the time isn't the server's.
    private func hasWaitedLong(_ exchange: ExchangeProgress, _ id: ExchangeID, at now: Duration) -> Bool {
        let time = now - exchange.lastActivity
        let patience = extras.patience(exchanges)
        if othersReceive(besides: id) { return min(time, flowTime(at: now) ?? .zero) >= patience }
        return time >= min(patience, demands.idleTimeout ?? patience)
    }

    /// The time for which the last extra exchanges may receive nothing if there is no idle timeout.
    private static let lastExtraTime = Duration.seconds(30)
    private static let simultaneousTime = Duration.milliseconds(500)

    private var stallTime: Duration { min(ExtraExchanges.stallTime, demands.idleTimeout ?? ExtraExchanges.stallTime) }

    /// For how long nothing arrives before nothing is known about a single exchange any more.
    var flowPause: Duration { stallTime / 2 }

    /// Returns for how long any exchange has received without a pause; nil while none does.
    private func flowTime(at now: Duration) -> Duration? { extras.flow.time(at: now, pause: flowPause) }

    private func isFlowing(at now: Duration) -> Bool { flowTime(at: now) != nil }

    /// Gives up on canceled exchanges whose end doesn't come.
    mutating func abandonCanceled(at now: Duration) -> [TransferAction] {
        guard let limit = demands.idleTimeout else { return [] }
        return exchanges.all.filter { _, exchange in
            exchange.canceledAt.map { now - $0 >= limit } ?? false && !exchange.isWriting
        }.map { .abandonExchange($0.id) }
    }
}
