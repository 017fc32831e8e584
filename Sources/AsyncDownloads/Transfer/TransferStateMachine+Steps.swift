/// The steps that inputs lead to.
extension TransferStateMachine {
    mutating func queue(at now: Duration) -> [TransferAction] {
        var actions: [TransferAction] = []
        // The end of a delay is told by what follows it.
        if case .backingOff = state {} else { actions.append(.tell(.waiting)) }
        state = .waiting
        takeOffer()
        if activeSince == nil, let deadline = settings.deadline {
            activeSince = now
            actions.append(.scheduleDeadline(max(.zero, deadline - activeTime)))
        }
        return actions + [.requestPermit]
    }

    /// Gives the permit back and stops the clock of the deadline.
    mutating func rest(at now: Duration) -> [TransferAction] {
        meter.stop()
        guard let since = activeSince else { return [.releasePermit] }
        activeTime += now - since
        activeSince = nil
        return [.releasePermit, .cancelDeadline]
    }

    mutating func openPartial() -> [TransferAction] {
        state = .opening
        return [.openPartial]
    }

    /// Starts the exchange that brings the next missing bytes, or finishes when none are.
    mutating func connect(at now: Duration) -> [TransferAction] {
        var actions = takeBackUnproven()
        if let representation, let length = representation.length, received.isComplete(below: length) {
            if let error = tooLarge(length) { return actions + fail(error, at: now) }
            // Rule 12: what is complete is not asked for again.
            state = .finishing
            // Rule 57: whatever was coalesced away, the last value is told.
            return actions + [
                .tell(.progress(progress)), .tell(.verifying), .finishPartial(length: length, representation),
            ]
        }
        if isOverdue(at: now) { return actions + fail(deadlineError, at: now) }
        if hasExpired(at: now) { return actions + refresh(.expired) }
        if !received.isEmpty, representation?.validator == nil || representation?.contentCoding != nil {
            actions += restart(.noValidator)
        }
        let asked = AskedRange.continuing(
            at: received.prefixEnd, validator: representation?.validator,
            window: usesWindows ? settings.windowLength : nil, isConditional: !dropsCondition)
        exchangeCount += 1
        exchange = ExchangeProgress(number: exchangeCount, asked: asked, position: asked.start, lastActivity: now)
        state = .connecting
        let fields = route.headers(headers, adding: asked.fields)
        let request = ExchangeRequest(url: route.current, headers: fields)
        return actions + [.startExchange(exchangeCount, request)] + keepTicking()
    }

    /// Forgets the bytes at hand; the store does so when the new representation begins.
    mutating func restart(_ reason: RestartReason) -> [TransferAction] {
        let discarded = received.count
        received = IntervalSet()
        representation = nil
        dropsCondition = false
        return discarded > 0 ? [.tell(.restarted(reason: reason, discardedByteCount: discarded))] : []
    }

    /// Awaits the exchange's end before anything else happens, at once or when its short body has run out.
    mutating func drain(_ next: Next, cancelling: Bool = true, at now: Duration) -> [TransferAction] {
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
    mutating func proceed(_ next: Next, at now: Duration) -> [TransferAction] {
        if next == .fail { return fail(pendingError ?? DownloadError(.storageFailure), at: now) }
        guard wish == .run else { return obey(at: now) }
        switch next {
        case .connect: return connect(at: now)
        case .refresh: return refresh(.status(pendingError?.statusCode ?? 0))
        case .retry: return retry(pendingError ?? DownloadError(.connectionLost), at: now)
        case .fail: preconditionFailure("fail is dealt with above")
        }
    }

    mutating func retry(_ error: DownloadError, at now: Duration) -> [TransferAction] {
        if received.count > mostReceived {
            // Rule 37: an attempt that brought something new is no failure to count.
            mostReceived = received.count
            retriesUsed = 0
        }
        guard error.isRetryable, retriesUsed < settings.retryPolicy.maximumRetries else { return fail(error, at: now) }
        retriesUsed += 1
        let delay = settings.retryPolicy.delay(
            beforeRetry: retriesUsed, jitter: jitter.nextFraction(), retryAfter: error.retryAfter)
        if let timeLeft = timeLeft(at: now), delay >= timeLeft {
            var late = deadlineError
            late.underlyingError = error
            return fail(late, at: now)
        }
        route.reset()
        let save: [TransferAction] = saving.begin(resumable: isResumable) ? [.savePartial(received)] : []
        return save + [.tell(.retrying(attempt: retriesUsed, delay: delay, error: error))] + backOff(for: delay)
    }

    mutating func backOff(for delay: Duration) -> [TransferAction] {
        meter.stop()
        delayCount += 1
        state = .backingOff(delayCount)
        return [.releasePermit, .scheduleRetry(delay, number: delayCount)]
    }

    mutating func fail(_ error: DownloadError, at now: Duration) -> [TransferAction] {
        // Whoever discarded has left, and wants no trace more than a reason.
        if wish == .discard, isPartialOpen { return close(.discarding, at: now) }
        pendingError = error
        return close(.failing, at: now)
    }

    mutating func close(_ closing: Closing, at now: Duration) -> [TransferAction] {
        let actions = rest(at: now)
        state = .closing(closing)
        guard isPartialOpen else { return actions + closed(at: now) }
        if closing == .discarding || closing == .purging { return actions + [.discardPartial] }
        return actions + [.closePartial(saving: representation == nil ? nil : received)]
    }

    mutating func end(_ ending: TransferEnding) -> [TransferAction] {
        state = .ended
        exchange = nil
        return [.end(ending)]
    }

    mutating func keepTicking() -> [TransferAction] {
        guard !isTicking else { return [] }
        isTicking = true
        return [.scheduleTick(settings.tickInterval)]
    }

    /// Whether an interruption now would cost nothing.
    var isResumable: Bool { representation?.validator != nil && representation?.contentCoding == nil }
}
