/// Extra exchanges, which fetch parts of the file while another exchange receives (rules 8, 23, 52, 53, and 58).
extension TransferStateMachine {
    /// Starts as many extra exchanges as are useful now.
    mutating func startExtras(at now: Duration) -> [TransferAction] {
        run.extras.judgeRefusals(run.exchanges, at: now)
        guard run.extras.number > run.exchanges.count, isDivisible, run.isFlowing(policies.idleTimeout, at: now),
            !address.hasExpired(at: now), let representation = bytes.representation, let length = representation.length,
            var terms = run.extras.terms(run.exchanges, missing: length - bytes.count, at: now)
        else { return [] }
        terms.window = run.extras.window(strategy.window)
        if run.extraAddress.isRenewing {
            guard !run.exchanges.hasRequests else { return [] }
            terms.count = 1
        }
        let validator = run.extras.dropsCondition ? nil : representation.validator
        var actions: [TransferAction] = []
        for range in run.exchanges.requestRanges(terms, received: bytes.intervals, at: now) {
            let request = RequestedRange.segment(range, validator: validator)
            actions += send(ExchangeProgress(request: request, isExtra: true, length: length, at: now))
        }
        return actions
    }

    /// Whether parts of the file may be fetched concurrently.
    private var isDivisible: Bool {
        guard isExchanging, intent == .run, policies.wantsFile, bytes.comparison == nil,
            let representation = bytes.representation
        else { return false }
        // Without a strong validator, only the expected digest can show that the parts belong to one object. This is
        // tried once.
        let mayCombineUnverified =
            settings.checksum != nil && !bytes.hasDigestMismatch && !bytes.hasDiscardedCombination
        let isVerifiable = representation.validator != nil || mayCombineUnverified
        // A later attempt continues after the contiguous first bytes, so these must exist.
        return isVerifiable && representation.length != nil && run.allowsGaps && representation.contentCoding == nil
            && representation.unverifiedFrom == nil && !bytes.needsConfirmation && bytes.intervals.prefixEnd > 0
            && !bytes.isComplete && run.exchanges.all.contains { $0.exchange.isReceiving && !$0.exchange.isCanceled }
    }

    /// Cancels the exchanges that are no longer worth a connection.
    mutating func cancelUseless(at now: Duration) -> [TransferAction] {
        guard isExchanging else { return [] }
        return run.cancelUseless(bytes, longestSurplus: settings.segmentLimits.longestSurplus, at: now)
    }
}

// MARK: - Heads

extension TransferStateMachine {
    /// Handles the decision about the head of an extra exchange.
    mutating func handleExtra(
        _ decision: SegmentDecision, _ id: ExchangeID, at now: Duration
    ) -> [TransferAction] {
        switch decision {
        case .accept(let end):
            return acceptExtra(id, end: end, at: now)
        case .changed:
            // The other requests were sent with the same condition.
            guard run.extras.sawDifference() else {
                return run.cancelExchange(id, at: now) + run.cancelUnanswered(at: now)
            }
            // Rule 52: no exchange continues; the next request, with If-Range, shows the present object.
            run.extras.turnOff()
            return drain(.advance, at: now)
        case .retryWithoutCondition:
            run.extras.dropCondition()
            return run.cancelExchange(id, at: now)
        case .redirect(let location):
            if run.extraAddress.follow(location) { return run.cancelExchange(id, at: now) }
            run.extras.turnOff()
            return run.cancelExchange(id, at: now) + run.cancelUnanswered(at: now)
        case .denied:
            guard run.extraAddress.denied(address.redirects) else {
                return run.refuseExtra(id, retryAfter: nil, at: now)
            }
            // The other requests use the same URL.
            return run.cancelExchange(id, at: now) + run.cancelUnanswered(at: now)
        case .ignoresRanges:
            run.extras.foundNoRanges()
            return run.cancelExchange(id, at: now) + run.cancelUnanswered(at: now)
        case .unusable:
            run.extras.turnOff()
            return run.cancelExchange(id, at: now) + run.cancelUnanswered(at: now)
        case .refused(let retryAfter):
            return run.refuseExtra(id, retryAfter: policies.retryPolicy.respected(retryAfter), at: now)
        }
    }

    private mutating func acceptExtra(_ id: ExchangeID, end: Int64, at now: Duration) -> [TransferAction] {
        guard let exchange = run.exchanges[id] else { preconditionFailure("an unknown extra exchange was accepted") }
        // If nothing arrived for a while, the network may have been interrupted.
        let isMeasured = now - exchange.sentAt <= run.flowTime(policies.idleTimeout, at: now) ?? .zero
        let acceptance = run.exchanges.assign(
            from: exchange.request.start, responseEnd: end, length: bytes.representation?.length, to: id,
            received: bytes.intervals, isMeasured: isMeasured, at: now)
        switch acceptance {
        case .late:
            return run.cancelExchange(id, at: now)
        case .segment:
            run.exchanges.update(id) { $0.accept(skipping: 0, end: end) }
            run.extraAddress.accepted()
            if bytes.representation?.validator == nil { bytes.combinedUnverified() }
            run.extras.accepted(segmentCount: run.exchanges.segments.count)
            run.extras.judgeRefusals(run.exchanges, at: now)
            return cancelUseless(at: now)
        }
    }
}

// MARK: - Ends

extension TransferStateMachine {
    /// Returns whether the end of an exchange has no consequences for the transfer.
    ///
    /// - The exchange was canceled.
    /// - It is an extra exchange without a head; another exchange or the next request fetches its bytes.
    /// - It has ended early while others receive; they, or a new request, fetch its bytes.
    /// - It was the last exchange and an extra one, and has ended early. The next request shows whether the failure
    ///   affects the transfer.
    func isHarmless(_ end: ExchangeEnd, of exchange: ExchangeProgress, _ id: ExchangeID) -> Bool {
        if exchange.isCanceled { return true }
        switch exchange.phase {
        case .connecting: return exchange.isExtra || run.othersReceive(besides: id)
        case .receiving: return (exchange.isExtra || run.othersReceive(besides: id)) && exchange.isPremature(end)
        case .proposed, .preparing, .endedEarly: return false
        }
    }

    /// Handles an end that has no consequences for the transfer.
    mutating func handleHarmlessEnd(
        _ exchange: ExchangeProgress, _ id: ExchangeID, at now: Duration
    ) -> [TransferAction] {
        // An exchange that soon breaks is treated like a refused one, because another exchange would break as well.
        let hasBroughtLittle = exchange.position - exchange.request.start < ExtraExchanges.shortResponse
        let hasBroughtAll = run.exchanges.isExhausted(id, bytes.intervals)
        let isBroken = exchange.isExtra && !exchange.isCanceled && !hasBroughtAll
        let isRefused = isBroken && hasBroughtLittle
        if isBroken, exchange.isReceiving { run.extras.broke(after: exchange.position - exchange.request.start) }
        let counts = exchange.isReceiving || run.countsRefusal(exchange, policies.idleTimeout, at: now)
        run.exchanges.remove(id)
        if isRefused, counts {
            run.extras.refused(segmentCount: run.exchanges.segments.count, retryAfter: nil, at: now)
        }
        if run.exchanges.isEmpty {
            run.extras.judgeRefusals(run.exchanges, at: now)
            return proceed(.advance, at: now)
        }
        return cancelUseless(at: now) + startExtras(at: now)
    }
}

// MARK: - Time

extension TransferStateMachine {
    /// Returns the report about the connections for the next check; nil if the number of exchanges isn't measured.
    mutating func connectionReport(at now: Duration) -> ConnectionReport? {
        guard isExchanging else { return nil }
        return run.extras.report(run.exchanges, isDivisible: isDivisible, at: now)
    }

    /// Returns what the run has learned about its host since the last call; nil for nothing new.
    mutating func takeObservation() -> (origin: Origin, observation: HostObservation)? {
        isRunning ? run.extras.takeObservation() : nil
    }

    /// Measures the rate, and cancels the exchanges that have stalled.
    ///
    /// - Parameter connections: The downloader's budget; nil if no ``connectionReport(at:)`` was made.
    mutating func checkExtras(_ connections: ConnectionBudget?, at now: Duration) -> [TransferAction] {
        var actions: [TransferAction] = []
        if run.extras.isMeasuring(run.exchanges), let connections, let length = bytes.representation?.length {
            run.extras.measure(
                run.exchanges, connections, remaining: length - bytes.count, mayRequest: !address.hasExpired(at: now),
                at: now)
            actions += cancelUseless(at: now)
        }
        actions += run.cancelStalled(policies.idleTimeout, at: now)
        return actions + startExtras(at: now)
    }
}
