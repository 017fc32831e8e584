/// The steps that inputs lead to.
extension TransferStateMachine {
    mutating func requestPermit(at now: Duration) -> [TransferAction] {
        state = .waiting
        acceptOffer()
        let host = redirects.host
        permitHost = host
        permitCount += 1
        // Who waits for another process was told so the first time.
        return (isPollingOwner ? [] : [.emit(.waiting)]) + [.requestPermit(host: host, number: permitCount)]
    }

    /// Gives the permit back, or withdraws the request for one; nothing is open any more.
    mutating func releasePermit() -> [TransferAction] {
        meter.stop()
        guard permitHost != nil else { return [] }
        permitHost = nil
        permitCount += 1
        return [.releasePermit]
    }

    mutating func openPartial() -> [TransferAction] {
        state = .opening
        return [.openPartial]
    }

    /// Starts the exchange that brings the next missing bytes, or finishes when none are.
    mutating func advance(at now: Duration) -> [TransferAction] {
        var actions = rollBackUnverified()
        if credentialProof == nil, let representation, let length = representation.length,
            received.isComplete(below: length)
        {
            if let error = tooLarge(length) { return actions + fail(error, at: now) }
            // Rule 12: what is complete is not asked for again.
            state = .finishing
            // Rule 57: whatever was coalesced away, the last value is told.
            return actions + [
                .emit(.progress(progress)), .emit(.verifying), .finishPartial(length: length, representation),
            ]
        }
        // A URL that has waited for a permit may be too old by now.
        if let refreshedAt, now - refreshedAt > Self.longestRefreshWithPermit { refreshCount = 0 }
        refreshedAt = nil
        if hasExpired(at: now) { return actions + refresh(.expired, at: now) }
        // Rule 58: the limit is that of the host that is talked to, which a redirect or a fresh URL changes.
        if permitHost != redirects.host {
            state = .waiting
            permitHost = redirects.host
            permitCount += 1
            return actions + [.movePermit(host: redirects.host, number: permitCount)]
        }
        actions += takeCredentials()
        if let comparison = startComparison(at: now) { return actions + comparison }
        if !received.isEmpty, representation?.validator == nil || representation?.contentCoding != nil {
            actions += restart(.noValidator)
        }
        let asked = RequestedRange.continuing(
            at: received.prefixEnd, validator: representation?.validator,
            window: usesWindows ? settings.windowLength : nil, isConditional: !dropsCondition)
        return actions + startExchange(asked, at: now)
    }

    /// Starts an exchange for these bytes, which are compared with those that are there if `compares`.
    mutating func startExchange(
        _ asked: RequestedRange, compares: Bool = false, at now: Duration
    ) -> [TransferAction] {
        exchangeCount += 1
        exchange = ExchangeProgress(
            number: exchangeCount, asked: asked, compares: compares, position: asked.start, lastActivity: now)
        state = .connecting
        let fields = redirects.headers(headers, adding: asked.fields)
        let request = ExchangeRequest(url: redirects.current, headers: fields)
        return [.startExchange(exchangeCount, request)] + keepTicking()
    }

    /// Forgets the bytes at hand; the store does so when the new representation begins.
    mutating func restart(_ reason: RestartReason) -> [TransferAction] {
        let discarded = received.count
        received = IntervalSet()
        representation = nil
        dropsCondition = false
        (credentialProof, reliesOnChecksum) = (nil, false)
        return discarded > 0 ? [.emit(.restarted(reason: reason, discardedByteCount: discarded))] : []
    }

    /// Awaits the exchange's end before anything else happens, at once or when its short body has run out.
    mutating func drain(_ next: DrainFollowUp, cancelling: Bool = true, at now: Duration) -> [TransferAction] {
        guard let exchange else { preconditionFailure("drain in \(state) without an exchange") }
        // A body that is held back must flow again, or its end would never come.
        var gate: [TransferAction] = []
        if case .preparing = state { gate = [.openGate(exchange: exchange.number)] }
        if state == .receiving || next == .retry { continuesWindows = false }
        state = .draining(next)
        if exchange.earlyEnd != nil {
            self.exchange = nil
            return gate + proceed(next, at: now)
        }
        return (cancelling ? cancelExchange(at: now) : []) + gate
    }

    mutating func cancelExchange(at now: Duration) -> [TransferAction] {
        guard let number = exchange?.number else { return [] }
        if exchange?.cancelledAt == nil { exchange?.cancelledAt = now }
        return [.cancelExchange(number)]
    }

    /// The exchange has ended: on to `next`, unless something else is wished.
    mutating func proceed(_ next: DrainFollowUp, at now: Duration) -> [TransferAction] {
        if next == .fail { return fail(pendingError ?? DownloadError(.storageFailure), at: now) }
        guard intent == .run else { return applyIntent(at: now) }
        switch next {
        case .advance: return advance(at: now)
        case .refresh: return refresh(.status(pendingError?.statusCode ?? 0), at: now)
        case .retry: return retry(pendingError ?? DownloadError(.connectionLost), at: now)
        case .fail: preconditionFailure("fail is dealt with above")
        }
    }

    mutating func retry(_ error: DownloadError, at now: Duration) -> [TransferAction] {
        guard let attempt = nextAttempt(after: error) else { return fail(error, at: now) }
        redirects.reset()
        // Nothing of use can be opened while descriptors are short, so those at hand are given back.
        let isShort = attempt.longestDelay <= Self.longestDelayWithPermit && error.code != .tooManyOpenFiles
        return [attempt.event] + backOff(for: attempt.delay, keepingOpen: isShort, at: now)
    }

    /// An attempt that follows a failure.
    struct Attempt {
        let delay: Duration
        /// The longest delay that could have been drawn.
        let longestDelay: Duration
        let event: TransferAction
    }

    /// Counts a failure; nil when no attempt follows.
    mutating func nextAttempt(after error: DownloadError) -> Attempt? {
        if received.count > mostReceived {
            // Rule 37: an attempt that brought something new is no failure to count.
            mostReceived = received.count
            retriesUsed = 0
        }
        let policy = demands.retryPolicy
        guard error.isRetryable, retriesUsed < policy.maximumRetries else { return nil }
        retriesUsed += 1
        let delay = policy.delay(
            beforeRetry: retriesUsed, jitter: jitter.nextFraction(), retryAfter: error.retryAfter)
        return Attempt(
            delay: delay,
            longestDelay: policy.delay(beforeRetry: retriesUsed, jitter: 1, retryAfter: error.retryAfter),
            event: .emit(.retrying(attempt: retriesUsed, delay: delay, error: error)))
    }

    /// The permit and the open partial are kept where the retry policy draws no longer delay than this, and in the delays of
    /// ``RequestPacing``, in which the server is answering.
    ///
    /// A permit goes with an open partial, so that there are never more of these than permits: with neither bound, downloads
    /// that wait for a network would take every descriptor of the process.
    static let longestDelayWithPermit = Duration.milliseconds(250)

    mutating func backOff(for delay: Duration, keepingOpen: Bool, at now: Duration) -> [TransferAction] {
        if isPartialOpen, !keepingOpen { return close(.retrying(at: now + delay), at: now) }
        return (isPartialOpen ? [] : releasePermit()) + wait(for: delay)
    }

    /// Waits until the next attempt, or the next request of the one under way.
    mutating func wait(for delay: Duration, isPaced: Bool = false) -> [TransferAction] {
        meter.stop()
        delayCount += 1
        self.isPaced = isPaced
        state = .backingOff(delayCount)
        return [.scheduleRetry(delay, number: delayCount)]
    }

    mutating func fail(_ error: DownloadError, at now: Duration) -> [TransferAction] {
        // Whoever discarded has left, and wants no trace more than a reason.
        if intent == .discard, isPartialOpen { return close(.discarding, at: now) }
        pendingError = error
        return close(.failing, at: now)
    }

    mutating func close(_ closing: CloseReason, at now: Duration) -> [TransferAction] {
        state = .closing(closing)
        guard isPartialOpen else { return closed(at: now) }
        meter.stop()
        if closing == .discarding || closing == .purging { return [.discardPartial] }
        return [.closePartial(saving: representation == nil ? nil : received)]
    }

    mutating func end(_ ending: TransferEnding) -> [TransferAction] {
        state = .ended
        exchange = nil
        return [.end(ending)]
    }

    mutating func keepTicking() -> [TransferAction] {
        guard !isTicking else { return [] }
        isTicking = true
        return [.scheduleTick(demands.tickInterval)]
    }

    /// Whether an interruption now would cost nothing.
    var isResumable: Bool { representation?.validator != nil && representation?.contentCoding == nil }
}
