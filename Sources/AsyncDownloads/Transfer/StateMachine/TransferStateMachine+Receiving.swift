/// The bodies of exchanges, and their ends.
extension TransferStateMachine {
    /// Handles that the store has emptied the partial file for the representation that the exchange delivers.
    ///
    /// - Parameters:
    ///   - allowsGaps: Whether bytes may be written far beyond the other bytes.
    ///   - relocates: Whether the transfer continues at another location after a failure.
    mutating func partialStarted(
        _ result: Result<Void, DownloadError>, allowsGaps: Bool = true, relocates: Bool = false,
        exchange id: ExchangeID, at now: Duration
    ) -> [TransferAction] {
        setAllowsGaps(allowsGaps)
        if case .success = result {
            bytes.partialEmptied()
        }
        return prepared(result, relocates: relocates, exchange: id, at: now)
    }

    /// Handles that the partial file may have been moved to another volume.
    ///
    /// - Parameter allowsGaps: Whether bytes may be written far beyond the other bytes.
    mutating func setAllowsGaps(_ allowsGaps: Bool) {
        // The run may have ended at the same time.
        if isRunning { run.allowsGaps = allowsGaps }
    }

    /// Handles that no subscriber was left when the partial file was to be emptied for a representation, so that the
    /// representation has no file.
    mutating func startRefused() {
        bytes.forgetEmptyRepresentation()
    }

    /// Handles that the store has prepared for the body of the exchange, or that the preparation has failed.
    ///
    /// - Parameter relocates: Whether the transfer continues at another location after a failure.
    mutating func prepared(
        _ result: Result<Void, DownloadError>, relocates: Bool = false, exchange id: ExchangeID, at now: Duration
    ) -> [TransferAction] {
        // Otherwise, the transfer was stopped at the same time; the store's queue keeps later operations in order.
        guard isHeldBack(id) else { return [] }
        switch result {
        case .failure(let error):
            return drain(relocates ? .relocate : .ofStorage(error), at: now)
        case .success:
            let earlyEnd = run.exchanges.update(id) { $0.prepared(at: now) } ?? nil
            meter.start(at: now)
            if let earlyEnd { return exchangeEnded(earlyEnd, exchange: id, at: now) }
            return [.openGate(exchange: id)]
        }
    }

    /// The decision about bytes that have arrived.
    enum BytesDecision: Sendable, Hashable {
        /// Write the parts, and report `wrote` for each of them; at least one part exists, but it may be empty.
        case write([ExchangeProgress.Part])
        /// Compare the part with the bytes on disk, and report `compared`.
        case compare(ExchangeProgress.Part)
        /// Keep the bytes, which belong to the body of a response that refuses the request.
        case keepRefusal
        /// Ignore the bytes: they belong to a superseded exchange, or to a body that isn't needed.
        case ignore
    }

    /// Handles `count` bytes of an exchange.
    mutating func bytesArrived(_ count: Int, exchange id: ExchangeID, at now: Duration) -> BytesDecision {
        guard let exchange = liveExchange(id), exchange.isReceiving, !exchange.isCanceled else {
            return awaitsRefusal(id) ? .keepRefusal : .ignore
        }
        meter.add(count)
        run.bytesArrived(count, of: id, policies.idleTimeout, at: now)
        let limit = policies.maximumByteCount
        let part = run.exchanges.update(id) { exchange in
            if exchange.compares { exchange.beginComparison() }
            return exchange.receive(count, limit: limit, at: now)
        }
        guard let part else { return .ignore }
        return exchange.compares ? .compare(part) : .write(missing(part, exchange: id, at: now))
    }

    /// Returns the pieces of a part that the exchange has to write.
    private mutating func missing(
        _ part: ExchangeProgress.Part, exchange id: ExchangeID, at now: Duration
    ) -> [ExchangeProgress.Part] {
        let range = part.offset..<part.offset + Int64(part.count)
        let missing = run.exchanges.claim(range, by: id, received: bytes.intervals, at: now)
        // The report of an empty part may show that the exchange has delivered too much.
        guard !missing.isEmpty else { return [.init(skipped: part.skipped, count: 0, offset: part.offset)] }
        return missing.map {
            .init(skipped: part.skipped + Int($0.lowerBound - part.offset), count: $0.count, offset: $0.lowerBound)
        }
    }

    /// Handles that the part at `offset` is written.
    mutating func wrote(
        _ count: Int, at offset: Int64, exchange id: ExchangeID, at now: Duration
    ) -> [TransferAction] {
        let exchange = run.exchanges.update(id) { exchange in
            exchange.finishWrite(offset..<offset + Int64(count), at: now)
            return exchange
        }
        guard let exchange else { return [] }
        bytes.wrote(offset..<offset + Int64(count), counts: !exchange.hasFailed)
        // The first bytes may be written after a change of credentials has canceled their exchange.
        if case .draining = run.step, bytes.comparison == nil { requireProofOfCredentials() }
        // Bytes that an engine has delivered although it was held back are written first.
        if exchange.isWriting { return [] }
        if exchange.exceedsPromise { return exceeded(exchange, at: now) }
        // The transfer was stopped during the write: the bytes count, but nothing else follows.
        guard isExchanging, exchange.isReceiving else { return [] }
        var actions = reportWritten(count, at: now)
        if exchange.hasOverflowed {
            let error = policies.excess(policies.maximumByteCount.map { $0 + 1 }) ?? DownloadError(.bodyTooLarge)
            actions += drain(.fail(error), at: now)
        } else {
            if run.exchanges.isExhausted(id, bytes.intervals) || bytes.isComplete { actions += cancelUseless(at: now) }
            actions += startExtras(at: now)
        }
        return actions
    }

    private mutating func reportWritten(_ count: Int, at now: Duration) -> [TransferAction] {
        var actions: [TransferAction] = []
        if bytes.isResumable, run.isCheckpointDue(after: count, at: now) {
            actions.append(.savePartial(bytes.intervals))
        }
        meter.stored()
        let emitsProgress = meter.shouldEmit(at: now)
        // Marked bytes survive a kill if the partial file has a checkpoint, so reported bytes are marked first.
        switch run.mark(after: count, isReported: emitsProgress, at: now) {
        case .now: actions.append(.markPartial(bytes.intervals, epoch: bytes.epoch))
        case .after(let delay): actions.append(.scheduleMark(delay))
        case nil: break
        }
        if emitsProgress { actions.append(.emit(.progress(progress))) }
        return actions
    }

    /// Handles that a part could not be written.
    ///
    /// - Parameter relocates: Whether the transfer continues at another location.
    mutating func writeFailed(
        _ error: DownloadError, relocates: Bool = false, exchange id: ExchangeID, at now: Duration
    ) -> [TransferAction] {
        run.exchanges.update(id) { $0.failWrite() }
        guard isReceiving(id) else { return [] }
        return drain(relocates ? .relocate : .ofStorage(error), at: now)
    }
}

extension Run.DrainFollowUp {
    /// Returns the step after a failure without a response, according to the state of the origin.
    fileprivate static func ofOrigin(_ error: DownloadError, _ step: Outage.Step) -> Self {
        switch step {
        case .retry(let number, let delay): .awaitOrigin(error, number: number, delay: delay)
        case .end: .fail(error)
        }
    }

    /// Returns the step after a failure of the store.
    fileprivate static func ofStorage(_ error: DownloadError) -> Self {
        error.code == .tooManyOpenFiles ? .retry(error) : .fail(error)
    }
}

// MARK: - The end of an exchange

extension TransferStateMachine {
    /// Handles the end of an exchange, after which the exchange reports nothing.
    ///
    /// - Parameter step: The next step after a failure without a response, which applies to all transfers of the origin.
    mutating func exchangeEnded(
        _ end: ExchangeEnd, step: Outage.Step? = nil, exchange id: ExchangeID, at now: Duration
    ) -> [TransferAction] {
        guard let exchange = run.exchanges[id] else {
            preconditionFailure("exchange \(id) ended twice, or was never started")
        }
        let step = step != nil && address.mayAwaitOrigin() ? step : nil
        switch run.step {
        case .draining(var followUp):
            if let step, case .retry(let error) = followUp {
                followUp = .ofOrigin(error, step)
                run.step = .draining(followUp)
            }
            run.exchanges.remove(id)
            return run.exchanges.isEmpty ? proceed(followUp, at: now) : []
        case .exchanging:
            return ended(exchange, id, end, step, at: now)
        case .moving, .refreshing, .delaying:
            preconditionFailure("exchange ended in \(phase)")
        }
    }

    private mutating func ended(
        _ exchange: ExchangeProgress, _ id: ExchangeID, _ end: ExchangeEnd, _ step: Outage.Step?, at now: Duration
    ) -> [TransferAction] {
        if isHarmless(end, of: exchange, id) { return handleHarmlessEnd(exchange, id, at: now) }
        switch exchange.phase {
        case .proposed, .preparing:
            run.exchanges.update(id) { $0.endEarly(end) }
            return []
        case .endedEarly:
            preconditionFailure("exchange \(id) ended twice")
        case .connecting:
            run.exchanges.remove(id)
            let error = failure(of: end) ?? DownloadError(.connectionLost, "no response")
            guard let step, networkHindrance == nil else { return failed(error, at: now) }
            strategy.interrupted()
            return drain(.ofOrigin(error, step), at: now)
        case .receiving:
            run.exchanges.remove(id)
            if let error = failure(of: end) ?? shortfall(exchange) { return failed(error, at: now) }
            var actions = exchange.compares ? comparisonEnded(exchange) : []
            if exchange.isExtra, let last = exchange.request.range?.last, exchange.position <= last {
                run.extras.receivedShortResponse(of: exchange.position - exchange.request.start)
            }
            if !run.exchanges.isEmpty {
                actions += cancelUseless(at: now)
                actions += startExtras(at: now)
            } else if let delay = delay(after: exchange) {
                actions += delayRequest(for: delay, isPaced: true)
            } else {
                actions += proceed(.advance, at: now)
            }
            return actions
        }
    }

    /// Returns the delay of the next request after an exchange that ended without an error; nil for none.
    private mutating func delay(after exchange: ExchangeProgress) -> Duration? {
        if !exchange.compares, bytes.isComplete { return nil }
        let isComplete = exchange.request.range?.last.map { exchange.position > $0 } ?? false
        return strategy.delay(
            afterAnswerOf: exchange.position - exchange.request.start, isComplete: isComplete)
    }

    private mutating func failed(_ error: DownloadError, at now: Duration) -> [TransferAction] {
        strategy.interrupted()
        // The loss of the network doesn't use up a retry.
        if error.isRetryable, networkHindrance != nil { return drain(.advance, at: now) }
        return drain(error.isRetryable ? .retry(error) : .fail(error), at: now)
    }

    private func failure(of end: ExchangeEnd) -> DownloadError? {
        switch end {
        case .complete: nil
        case .cancelled, .cancelledWhileConnecting:
            DownloadError(.connectionLost, "the engine canceled the exchange")
        case .failed(let error): error
        }
    }

    /// Returns the error for a body that ended too early; records the length if the head didn't state it (rule 47).
    private mutating func shortfall(_ exchange: ExchangeProgress) -> DownloadError? {
        guard let end = exchange.end else {
            bytes.settleLength(exchange.position)
            return nil
        }
        guard exchange.position < end else { return nil }
        return DownloadError(.connectionLost, "\(end - exchange.position) bytes short of what the head promised")
    }
}

// MARK: - Draining
