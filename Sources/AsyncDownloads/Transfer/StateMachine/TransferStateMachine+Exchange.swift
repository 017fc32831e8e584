internal import Foundation

/// What an exchange brings: its head, its bytes, its end.
extension TransferStateMachine {
    /// What is to become of bytes that arrived.
    enum BytesDecision: Sendable, Hashable {
        /// Write `count` bytes at `offset`, leaving out the first `skipping`; then report `wrote`.
        case write(skipping: Int, count: Int, offset: Int64)
        /// Compare `count` bytes, leaving out the first `skipping`, with those at `offset`; then report `compared`.
        case compare(skipping: Int, count: Int, offset: Int64)
        /// Write nothing: they belong to a superseded exchange, or to a body of no use.
        case ignore
    }

    /// What the callback that reported a head has to do before it returns.
    enum HeadReply: Sendable, Hashable {
        /// Let the body flow, or run out.
        case proceed
        /// Begin an empty partial file for this representation, and report `began`; then let the body flow.
        case begin(Representation)
        /// Hold the body back until `openGate`.
        case holdBack
    }

    /// The answer to the head of exchange `number`, after everything that its arrival led to.
    func headReply(exchange number: Int) -> HeadReply {
        guard exchange?.number == number, case .preparing(let preparation) = state else { return .proceed }
        return switch preparation {
        case .beginning(let representation): .begin(representation)
        case .store: .holdBack
        }
    }

    /// The head of exchange `number` arrived; ``headReply(exchange:)`` says what becomes of its body.
    mutating func headArrived(
        _ head: ResponseHead, exchange number: Int, at now: Duration, date: HTTPDate
    ) -> [TransferAction] {
        // It crossed a cancellation.
        guard exchange?.number == number, state == .connecting else { return [] }
        exchange?.lastActivity = now
        let interpreter = ResponseInterpreter(
            asked: exchange?.asked ?? .everything, known: representation, received: received.prefixEnd,
            url: redirects.current.absoluteString, decodesContent: settings.decodesContent, date: date,
            requiresVerification: requiresVerification, mayDropCondition: !hasDroppedCondition,
            toleratesChange: toleratesChange)
        if exchange?.compares == true { return comparisonHeadArrived(head, interpreter, at: now) }
        return take(interpreter.decide(head), head, at: now)
    }

    /// Does what the head was found to mean.
    mutating func take(
        _ decision: ResponseDecision, _ head: ResponseHead, at now: Duration
    ) -> [TransferAction] {
        switch decision {
        case .append(let continuation):
            return append(continuation, at: now)
        case .begin(let representation, let end, let reason):
            return begin(representation, end: end, reason: reason, at: now)
        case .complete(let length):
            representation?.length = length
            return importConfirmed() + drain(.advance, at: now)
        case .retryRequest(.unbounded):
            usesWindows = false
            return drain(.advance, at: now)
        case .retryRequest(.withoutCondition):
            (dropsCondition, hasDroppedCondition) = (true, true)
            return drain(.advance, at: now)
        case .retryRequest(.everything(let reason)):
            return requestEverything(reason, at: now)
        case .redirect(let location):
            if let error = redirects.follow(location) { return drainToFail(error, at: now) }
            return drain(.advance, cancelling: !hasShortBody(head), at: now)
        case .fail(let failure):
            return failed(failure, head, at: now)
        }
    }

    private mutating func append(
        _ continuation: ResponseDecision.Continuation, at now: Duration
    ) -> [TransferAction] {
        if let error = tooLarge(continuation.representation.length) { return drainToFail(error, at: now) }
        if representation?.validator != continuation.representation.validator { dropsCondition = false }
        let hasChanged = representation != continuation.representation
        let becomesUnverified = representation?.unverifiedFrom != continuation.representation.unverifiedFrom
        representation = continuation.representation
        let confirmation = importConfirmed()
        exchange?.end = continuation.end
        exchange?.toSkip = continuation.skipped
        rangeFaults = 0
        addressAnswered()
        state = becomesUnverified ? .preparing(.store) : .receiving
        if !becomesUnverified { meter.begin(at: now) }
        var actions: [TransferAction] = hasChanged ? [.updateRepresentation(continuation.representation)] : []
        actions += confirmation + emitStart()
        // The next window of an undisturbed download is no resumption.
        if !continuesWindows { actions.append(.emit(.resumed(fromOffset: received.prefixEnd))) }
        continuesWindows = usesWindows
        // Before a byte is there that the record would pass off as proven.
        return actions + (becomesUnverified ? [.recordPartial(received, exchange: exchange?.number ?? 0)] : [])
    }

    private mutating func begin(
        _ new: Representation, end: Int64?, reason: RestartReason?, at now: Duration
    ) -> [TransferAction] {
        if let error = tooLarge(new.length ?? end) { return drainToFail(error, at: now) }
        var actions = restart(reason ?? .contentChanged)
        representation = new
        exchange?.position = 0
        exchange?.end = end
        checkpoints.reset()
        addressAnswered()
        state = .preparing(isPartialFilled ? .store : .beginning(new))
        continuesWindows = usesWindows
        actions += emitStart()
        guard isPartialFilled else { return actions }
        return actions + [.beginPartial(new, exchange: exchange?.number ?? 0)]
    }

    /// A server has confirmed bytes that were imported: the file that they are from is not needed any more.
    private mutating func importConfirmed() -> [TransferAction] {
        representation?.isImported = false
        guard awaitsConfirmation else { return [] }
        awaitsConfirmation = false
        return [.removeImportedFile]
    }

    private mutating func addressAnswered() {
        redirects.isProven = true
        refreshCount = 0
        requiresVerification = false
    }

    private mutating func emitStart() -> [TransferAction] {
        guard !hasStarted else { return [] }
        hasStarted = true
        return [.emit(.started(expectedByteCount: representation?.length, isResumable: isResumable))]
    }

    mutating func requestEverything(_ reason: RestartReason, at now: Duration) -> [TransferAction] {
        // Rule 27: once is a change, twice is a resource that nobody can download; in windows, one that nobody can
        // download in parts.
        guard forcedRestarts < 1 || usesWindows else {
            return drainToFail(DownloadError(.contentChanged, "\(reason), again after a restart"), at: now)
        }
        forcedRestarts += 1
        if reason != .contentChanged || forcedRestarts > 1 { usesWindows = false }
        return restart(reason) + drain(.advance, at: now)
    }

    private mutating func failed(
        _ failure: ResponseDecision.Failure, _ head: ResponseHead, at now: Duration
    ) -> [TransferAction] {
        if failure.blamesRange {
            rangeFaults += 1
            // One bad answer may be a proxy's hiccup, and giving up the bytes for it would be rash; two are a habit.
            if rangeFaults > 1 {
                usesWindows = false
                return received.isEmpty
                    ? drain(.advance, at: now) : requestEverything(.invalidPartialResponse, at: now)
            }
        }
        if redirects.hasExpired(head.status), !received.isEmpty || redirects.hasWaited {
            // Signed targets last for minutes; the URL that was asked for leads to a fresh one.
            redirects.returnToOrigin()
            return drain(.advance, cancelling: !hasShortBody(head), at: now)
        }
        if [401, 403, 410].contains(head.status.code), acceptOffer() {
            return drain(.advance, cancelling: !hasShortBody(head), at: now)
        }
        let error = DownloadError(
            failure.code, failure.detail, statusCode: head.status.code, isRetryable: failure.isRetryable,
            retryAfter: failure.retryAfter)
        pendingError = error
        if canRefresh(after: head.status) { return drain(.refresh, cancelling: !hasShortBody(head), at: now) }
        return drain(failure.isRetryable ? .retry : .fail, cancelling: !hasShortBody(head), at: now)
    }

    /// Whether the body is short enough to let it run out, which saves the connection.
    private func hasShortBody(_ head: ResponseHead) -> Bool {
        guard case .value(let length) = ContentLength(head.headers) else { return false }
        return length <= 16 << 10
    }

    func tooLarge(_ length: Int64?) -> DownloadError? {
        guard let limit = demands.byteLimit, let length, length > limit else { return nil }
        return DownloadError(.bodyTooLarge, "\(length) bytes, \(limit) allowed")
    }

    private mutating func drainToFail(_ error: DownloadError, at now: Duration) -> [TransferAction] {
        pendingError = error
        return drain(.fail, at: now)
    }
}

// MARK: - The body

extension TransferStateMachine {
    /// The store has made room for the representation that exchange `number` brings.
    mutating func began(
        _ result: Result<Void, DownloadError>, exchange number: Int, at now: Duration
    ) -> [TransferAction] {
        if case .success = result { isPartialFilled = false }
        return prepared(result, exchange: number, at: now)
    }

    /// The store is ready for the body of exchange `number`, or not.
    mutating func prepared(
        _ result: Result<Void, DownloadError>, exchange number: Int, at now: Duration
    ) -> [TransferAction] {
        // A stop came between; the store's queue keeps what follows in order.
        guard case .preparing = state, exchange?.number == number else { return [] }
        switch result {
        case .failure(let error) where error.code == .tooManyOpenFiles:
            pendingError = error
            return drain(.retry, at: now)
        case .failure(let error):
            return drainToFail(error, at: now)
        case .success:
            state = .receiving
            exchange?.lastActivity = now
            meter.begin(at: now)
            if let early = exchange?.earlyEnd { return exchangeEnded(early, exchange: number, at: now) }
            return [.openGate(exchange: number)]
        }
    }

    /// `count` bytes of exchange `number` arrived.
    mutating func bytesArrived(_ count: Int, exchange number: Int, at now: Duration) -> BytesDecision {
        guard exchange?.number == number, state == .receiving, var current = exchange else { return .ignore }
        meter.add(count)
        current.lastActivity = now
        let skipped = min(Int64(count), current.toSkip)
        current.toSkip -= skipped
        var wanted = Int64(count) - skipped
        // Rule 30: never a byte beyond the promised end, nor beyond the caller's limit.
        if let limit = [current.end, current.compares ? nil : demands.byteLimit].compactMap({ $0 }).min() {
            let room = max(0, limit - current.position)
            if wanted > room {
                wanted = room
                current.overflowed = true
            }
        }
        let offset = current.beginWrite(wanted)
        exchange = current
        return current.compares
            ? .compare(skipping: Int(skipped), count: Int(wanted), offset: offset)
            : .write(skipping: Int(skipped), count: Int(wanted), offset: offset)
    }

    /// The bytes that `bytesArrived` said to write at `offset` are written.
    mutating func wrote(_ count: Int, at offset: Int64, exchange number: Int, at now: Duration) -> [TransferAction] {
        guard exchange?.number == number, var current = exchange else { return [] }
        current.endWrite()
        // After a failure the bytes behind would leave a gap.
        if !current.hasFailed { received.insert(offset..<offset + Int64(count)) }
        current.lastActivity = now
        exchange = current
        isPartialFilled = true
        // What an engine has delivered although it was told to wait is written first.
        if current.isWriting { return [] }
        if current.overflowed, let end = current.end, current.position >= end { return exceeded(current, at: now) }
        // A stop came while the bytes were being written: they count, and nothing more happens here.
        guard state == .receiving else { return [] }
        var actions: [TransferAction] = []
        if isResumable, checkpoints.wrote(count, at: now) { actions.append(.savePartial(received)) }
        let emitsProgress = meter.shouldEmit(at: now)
        // What a subscriber is told to be there is there after a kill.
        switch marks.wrote(count, at: now, isReported: emitsProgress) {
        case .now: actions.append(.markPartial(received))
        case .after(let delay): actions.append(.scheduleMark(delay))
        case nil: break
        }
        if emitsProgress { actions.append(.emit(.progress(progress))) }
        guard current.overflowed else { return actions }
        let limit = demands.byteLimit ?? 0
        return actions + drainToFail(DownloadError(.bodyTooLarge, "more than the \(limit) bytes allowed"), at: now)
    }

    /// The bytes could not be written.
    mutating func writeFailed(
        _ error: DownloadError, exchange number: Int, at now: Duration
    ) -> [TransferAction] {
        guard exchange?.number == number else { return [] }
        exchange?.failWrite()
        guard state == .receiving else { return [] }
        return drainToFail(error, at: now)
    }

    /// Exchange `number` has ended: nothing of it comes any more.
    mutating func exchangeEnded(_ end: ExchangeEnd, exchange number: Int, at now: Duration) -> [TransferAction] {
        guard let current = exchange, current.number == number else {
            preconditionFailure("exchange \(number) ended twice, or was never started")
        }
        switch state {
        case .draining(let next):
            exchange = nil
            return proceed(next, at: now)
        case .preparing:
            exchange?.earlyEnd = end
            return []
        case .connecting:
            exchange = nil
            return proceed(after: failure(of: end) ?? DownloadError(.connectionLost, "no response"), at: now)
        case .receiving:
            exchange = nil
            let error = failure(of: end) ?? shortfall(current)
            let proof = current.compares && error == nil ? comparisonEnded(current) : []
            if error == nil, let delay = delay(after: current) { return proof + wait(for: delay, isPaced: true) }
            return proof + proceed(after: error, at: now)
        case .ready, .waiting, .opening, .refreshing, .backingOff, .closing, .paused, .finishing, .ended:
            preconditionFailure("exchange ended in \(state)")
        }
    }

    /// How long the next request has to wait after an exchange that ended in order; nil for not at all.
    private mutating func delay(after exchange: ExchangeProgress) -> Duration? {
        if !exchange.compares, let length = representation?.length, received.isComplete(below: length) { return nil }
        let isComplete = exchange.asked.range?.last.map { exchange.position > $0 } ?? false
        return pacing.delay(afterAnswerOf: exchange.position - exchange.asked.start, isComplete: isComplete)
    }

    private mutating func proceed(after error: DownloadError?, at now: Duration) -> [TransferAction] {
        pendingError = error
        guard let error else { return proceed(.advance, at: now) }
        continuesWindows = false
        return proceed(error.isRetryable ? .retry : .fail, at: now)
    }

    private func failure(of end: ExchangeEnd) -> DownloadError? {
        switch end {
        case .complete: nil
        case .cancelled: DownloadError(.connectionLost, "the engine cancelled the exchange")
        case .failed(let error): error
        }
    }

    /// What is missing of a body that ended in order; settles the length of one that promised none (rule 47).
    private mutating func shortfall(_ exchange: ExchangeProgress) -> DownloadError? {
        guard let end = exchange.end else {
            representation?.length = exchange.position
            return nil
        }
        guard exchange.position < end else { return nil }
        return DownloadError(.connectionLost, "\(end - exchange.position) bytes short of what the head promised")
    }
}
