internal import Foundation

/// The life of one transfer, without effects: inputs are mutating functions, outputs are actions.
///
/// What callers want (``Wish``) is kept apart from where the transfer stands (``State``): a wish is taken up at the
/// next point where the state allows it, so that pausing and resuming in any order from any thread needs no state for
/// every combination. Exchanges are numbered, and so are delays: whatever a superseded one still reports is dropped
/// where its number is compared.
struct TransferStateMachine: Sendable {
    /// Where the transfer stands.
    enum State: Sendable, Hashable {
        /// Nothing has happened. Goes to `waiting`, or to `paused` for one that is revived.
        case ready
        /// A permit was asked for. Goes to `opening`, or to `connecting` when the partial is open.
        case waiting
        /// The store opens the partial. Goes to `connecting`, `backingOff` while another process owns it, `closing`.
        case opening
        /// An exchange was started and no head accepted. Goes to `preparing`, `receiving`, `draining`.
        case connecting
        /// The head of a new representation was accepted; the store makes room, the body is held back.
        case preparing
        /// The body arrives. Goes to `connecting` for the next part, `draining`, `finishing`.
        case receiving
        /// The exchange is of no more use; its end is awaited, so that it cannot touch what comes next.
        case draining(Next)
        /// No exchange and no permit, until the delay of this number is over. Goes to `waiting`.
        case backingOff(Int)
        /// The store saves and closes. Goes to `paused`, `waiting` when resumed meanwhile, `opening` when discarded
        /// meanwhile, `ended`.
        case closing(Closing)
        /// Nothing is open and nothing runs; the bytes are on disk. Goes to `waiting`, `opening` to discard, `ended`.
        case paused
        /// Every byte is there; the file is verified and put in place. Goes to `ended`.
        case finishing
        /// Over. Nothing follows.
        case ended
    }

    /// What follows when the exchange has ended, unless the callers wish otherwise meanwhile.
    enum Next: Sendable, Hashable {
        /// Connect again: to the redirect's target, or asking differently.
        case connect
        /// Count a failure, and try again after a delay.
        case retry
        /// End with the pending error, whatever the callers wish.
        case fail
    }

    /// Why the store closes the partial.
    enum Closing: Sendable, Hashable {
        case keeping, failing, discarding
    }

    /// What the callers want.
    enum Wish: Sendable, Hashable {
        /// The file.
        case run
        /// A pause, keeping the transfer.
        case pause
        /// To leave: the bytes stay on disk, the transfer goes.
        case park
        /// No trace.
        case discard
    }

    let settings: TransferSettings
    var state = State.ready
    private(set) var wish = Wish.run

    /// What is known of the object whose bytes are `received`; nil before the first answer and after a restart.
    var representation: Representation?
    /// Which bytes of `representation` are on disk.
    var received = IntervalSet()
    /// The representation for which an empty partial is to begin before the head's callback returns.
    ///
    /// Making a file is quick, and engines drop what they have read when a connection breaks while the body is held
    /// back. Only where bytes have to go first, which may take long, is the body held back for it.
    var newcomer: Representation?
    /// Whether the partial holds bytes, of whichever representation.
    var isPartialFilled = false
    /// The exchange under way, until its end was reported.
    var exchange: ExchangeProgress?
    /// The error that `draining(.retry)`, `draining(.fail)` and `closing(.failing)` are about.
    var pendingError: DownloadError?

    var route: Route
    var meter: ProgressMeter
    var saving = SavingSchedule()
    var hasStarted = false
    var usesWindows: Bool
    /// Whether the next partial response merely follows on the one before.
    var continuesWindows = false
    var rangeFaults = 0
    var forcedRestarts = 0

    private var exchangeCount = 0
    private var delayCount = 0
    private var retriesUsed = 0
    private var mostReceived: Int64 = 0
    private var isPartialOpen = false
    private var isTicking = false
    private var activeTime = Duration.zero
    private var activeSince: Duration?
    private var jitter: SplitMix64

    init(settings: TransferSettings, seed: UInt64) {
        self.settings = settings
        route = Route(origin: settings.url)
        meter = ProgressMeter(interval: settings.progressInterval)
        usesWindows = settings.windowLength != nil
        jitter = SplitMix64(seed: seed)
    }

    /// The latest progress.
    var progress: DownloadProgress {
        meter.progress(received: received.count, expected: representation?.length)
    }

    /// Whether a new caller may still get this transfer's file.
    var isJoinable: Bool {
        switch state {
        case .finishing, .ended, .closing(.failing), .closing(.discarding), .draining(.fail): false
        default: wish != .discard
        }
    }
}

// MARK: - What callers want

extension TransferStateMachine {
    /// Begins, or goes on after a pause.
    mutating func run(at now: Duration) -> [TransferAction] {
        // A discard is final; whoever asks again gets a transfer of his own.
        guard wish != .discard, isJoinable else { return [] }
        wish = .run
        switch state {
        case .ready, .paused: return queue(at: now)
        // Under way, or about to look at the wish again.
        case .waiting, .opening, .connecting, .preparing, .receiving, .draining, .backingOff, .closing: return []
        case .finishing, .ended: return []
        }
    }

    /// Registers a transfer that an earlier process left, without beginning.
    mutating func revive(_ unfinished: UnfinishedPartial) {
        guard state == .ready else { preconditionFailure("revive in \(state)") }
        representation = unfinished.representation
        received = unfinished.received
        wish = .pause
        state = .paused
    }

    /// Stops for ``Wish/pause``, ``Wish/park`` or ``Wish/discard``.
    mutating func stop(_ newWish: Wish, at now: Duration) -> [TransferAction] {
        // The last byte is there: a stop that comes now comes too late, and costs nothing. Or it is over.
        guard state != .finishing, state != .ended, wish != .discard else { return [] }
        wish = newWish
        continuesWindows = false
        switch state {
        case .ready, .paused, .waiting, .backingOff:
            return obey(at: now)
        case .connecting, .preparing, .receiving:
            return drain(.connect, at: now)
        // A body that is left to run out must not hold up whoever stops.
        case .draining:
            return exchange.map { [.cancelExchange($0.number)] } ?? []
        // Their answers are on the way, and the wish is looked at then.
        case .opening, .closing:
            return []
        case .finishing, .ended:
            return []
        }
    }

    /// Does what is wished at a point where nothing is under way.
    mutating func obey(at now: Duration) -> [TransferAction] {
        switch wish {
        case .run:
            return isPartialOpen ? connect(at: now) : openPartial()
        case .pause where state == .paused:
            return []
        case .pause, .park:
            return close(.keeping, at: now)
        case .discard:
            return isPartialOpen ? close(.discarding, at: now) : rest(at: now) + openPartial()
        }
    }
}

// MARK: - The scheduler, the store and time

extension TransferStateMachine {
    /// The scheduler's permit came.
    mutating func permitGranted(at now: Duration) -> [TransferAction] {
        // The permit crossed a stop: it has been given back already.
        guard state == .waiting else { return [] }
        return obey(at: now)
    }

    /// The store opened the partial, or could not.
    mutating func opened(_ result: Result<PartialFinding, DownloadError>, at now: Duration) -> [TransferAction] {
        guard state == .opening else { preconditionFailure("opened in \(state)") }
        switch result {
        case .failure(let error) where error.code == .partialInUse && wish == .run && settings.waitsForOwner:
            return isOverdue(at: now) ? fail(deadlineError, at: now) : backOff(for: settings.ownerPollInterval)
        case .failure(let error):
            // Whoever wanted to discard, and cannot, has left already: there is nothing else to do.
            return wish == .pause || wish == .park ? close(.keeping, at: now) : fail(error, at: now)
        case .success(let finding):
            isPartialOpen = true
            saving = SavingSchedule()
            return take(finding, at: now) + obey(at: now)
        }
    }

    private mutating func take(_ finding: PartialFinding, at now: Duration) -> [TransferAction] {
        let known = received.count
        switch finding {
        case .nothing:
            representation = nil
            received = IntervalSet()
            // Rule 56: they were there before a pause.
            return known > 0 ? [.tell(.restarted(reason: .partialMissing, discardedByteCount: known))] : []
        case .bytes(let representation, let received):
            self.representation = representation
            self.received = received
            isPartialFilled = true
            saving.found(at: now)
            mostReceived = max(mostReceived, received.count)
            // What a restart gave up is back, where a pause came before the new representation.
            forcedRestarts = 0
            let lost = known - received.count
            return lost > 0 ? [.tell(.restarted(reason: .partialTruncated, discardedByteCount: lost))] : []
        case .unusable(let reason, let discarded):
            representation = nil
            received = IntervalSet()
            return [.tell(.restarted(reason: reason, discardedByteCount: discarded))]
        }
    }

    /// The checkpoint asked for by `savePartial` is written, or could not be: it costs bytes only after a crash.
    mutating func saved() -> [TransferAction] {
        saving.isUnderWay = false
        return []
    }

    /// The partial is closed.
    mutating func closed(_ result: Result<Void, DownloadError>, at now: Duration) -> [TransferAction] {
        guard case .closing(let closing) = state else { preconditionFailure("closed in \(state)") }
        let wasOpen = isPartialOpen
        isPartialOpen = false
        switch closing {
        case .discarding:
            return end(.discarded)
        case .failing where wish == .discard && wasOpen:
            return openPartial()
        case .failing:
            var error = pendingError ?? DownloadError(.storageFailure)
            error.bytesKept = received.count
            return end(.failed(error))
        case .keeping:
            continuesWindows = false
            route.reset()
            return closedKeeping(at: now)
        }
    }

    private mutating func closedKeeping(at now: Duration) -> [TransferAction] {
        switch wish {
        case .run:
            return queue(at: now)
        case .pause:
            state = .paused
            return [.tell(.paused(receivedByteCount: received.count))]
        case .park:
            return end(.parked)
        case .discard:
            return openPartial()
        }
    }

    /// The file is verified and in place, or not.
    mutating func finished(
        _ result: Result<[Int: Result<DownloadedFile, DownloadError>], DownloadError>, at now: Duration
    ) -> [TransferAction] {
        guard state == .finishing else { preconditionFailure("finished in \(state)") }
        let ending: TransferEnding =
            switch result {
            case .success(let results): .finished(results)
            case .failure(let error): .failed(error)
            }
        return rest(at: now) + end(ending)
    }

    /// The delay of this number is over.
    mutating func retryDue(number: Int, at now: Duration) -> [TransferAction] {
        // A stop, or a later delay, came first.
        guard state == .backingOff(number) else { return [] }
        return queue(at: now)
    }

    /// A second or so has passed: looks for a stalled exchange, and tells what progress is left to tell.
    mutating func tick(at now: Duration) -> [TransferAction] {
        isTicking = false
        guard let exchange else { return [] }
        var actions = keepTicking()
        switch state {
        case .connecting, .receiving:
            if meter.shouldTell(at: now) { actions.append(.tell(.progress(progress))) }
            // While the disk takes its time, the engine could not deliver anything.
            if let idle = settings.idleTimeout, !exchange.isWriting, now - exchange.lastActivity >= idle {
                pendingError = DownloadError(.timedOut, "no byte for \(idle)")
                actions += drain(.retry, at: now)
            }
        case .draining:
            // A body that was left to run out does not.
            if let idle = settings.idleTimeout, now - exchange.lastActivity >= idle {
                actions.append(.cancelExchange(exchange.number))
            }
        default:
            break
        }
        return actions
    }

    /// The time for the whole download is over.
    mutating func deadlineReached(at now: Duration) -> [TransferAction] {
        // A timer that crossed its cancellation, or went off early.
        guard isOverdue(at: now) else { return timeLeft(at: now).map { [.scheduleDeadline($0)] } ?? [] }
        switch state {
        // The file is there; or nothing is wanted just now, and time in a pause does not count.
        case .finishing, .ended, .ready, .paused, .closing: return []
        // The store's answer comes first.
        case .opening: return []
        // It ends anyway, and at once.
        case .draining(.fail): return exchange.map { [.cancelExchange($0.number)] } ?? []
        // A stop came first; should it be taken back, the next connection looks at the time.
        case .draining where wish != .run: return []
        case .waiting, .backingOff:
            return fail(deadlineError, at: now)
        case .connecting, .preparing, .receiving, .draining:
            pendingError = deadlineError
            return drain(.fail, at: now)
        }
    }

    /// What is left of the time for the whole download; nil without a deadline, and in a pause.
    private func timeLeft(at now: Duration) -> Duration? {
        guard let deadline = settings.deadline, let activeSince else { return nil }
        return deadline - activeTime - (now - activeSince)
    }

    private func isOverdue(at now: Duration) -> Bool {
        timeLeft(at: now).map { $0 <= .zero } ?? false
    }

    private var deadlineError: DownloadError {
        DownloadError(.deadlineExceeded, "not finished within \(settings.deadline ?? .zero)")
    }
}

// MARK: - Steps

extension TransferStateMachine {
    private mutating func queue(at now: Duration) -> [TransferAction] {
        var actions: [TransferAction] = []
        // The end of a delay is told by what follows it.
        if case .backingOff = state {} else { actions.append(.tell(.waiting)) }
        state = .waiting
        if activeSince == nil, let deadline = settings.deadline {
            activeSince = now
            actions.append(.scheduleDeadline(max(.zero, deadline - activeTime)))
        }
        return actions + [.requestPermit]
    }

    /// Gives the permit back and stops the clock of the deadline.
    private mutating func rest(at now: Duration) -> [TransferAction] {
        meter.stop()
        guard let since = activeSince else { return [.releasePermit] }
        activeTime += now - since
        activeSince = nil
        return [.releasePermit, .cancelDeadline]
    }

    private mutating func openPartial() -> [TransferAction] {
        state = .opening
        return [.openPartial]
    }

    /// Starts the exchange that brings the next missing bytes, or finishes when none are.
    mutating func connect(at now: Duration) -> [TransferAction] {
        var actions: [TransferAction] = []
        if let representation, let length = representation.length, received.isComplete(below: length) {
            if let error = tooLarge(length) { return fail(error, at: now) }
            // Rule 12: what is complete is not asked for again.
            state = .finishing
            // Rule 57: whatever was coalesced away, the last value is told.
            return [
                .tell(.progress(progress)), .tell(.verifying), .finishPartial(length: length, representation),
            ]
        }
        if isOverdue(at: now) { return fail(deadlineError, at: now) }
        if !received.isEmpty, representation?.validator == nil || representation?.contentCoding != nil {
            actions += restart(.noValidator)
        }
        let asked = AskedRange.continuing(
            at: received.prefixEnd, validator: representation?.validator,
            window: usesWindows ? settings.windowLength : nil)
        exchangeCount += 1
        exchange = ExchangeProgress(number: exchangeCount, asked: asked, position: asked.start, lastActivity: now)
        state = .connecting
        let headers = route.headers(settings.headers, adding: asked.fields)
        let request = ExchangeRequest(url: route.current, headers: headers)
        return actions + [.startExchange(exchangeCount, request)] + keepTicking()
    }

    /// Forgets the bytes at hand; the store does so when the new representation begins.
    mutating func restart(_ reason: RestartReason) -> [TransferAction] {
        let discarded = received.count
        received = IntervalSet()
        representation = nil
        return discarded > 0 ? [.tell(.restarted(reason: reason, discardedByteCount: discarded))] : []
    }

    /// Awaits the exchange's end before anything else happens, at once or when its short body has run out.
    mutating func drain(_ next: Next, cancelling: Bool = true, at now: Duration) -> [TransferAction] {
        guard let exchange else { preconditionFailure("drain in \(state) without an exchange") }
        // A body that is held back must flow again, or its end would never come.
        let gate: [TransferAction] = state == .preparing ? [.openGate(exchange: exchange.number)] : []
        if state == .receiving || next == .retry { continuesWindows = false }
        state = .draining(next)
        if exchange.earlyEnd != nil {
            self.exchange = nil
            return gate + proceed(next, at: now)
        }
        return (cancelling ? [.cancelExchange(exchange.number)] : []) + gate
    }

    /// The exchange has ended: on to `next`, unless something else is wished.
    mutating func proceed(_ next: Next, at now: Duration) -> [TransferAction] {
        if next == .fail { return fail(pendingError ?? DownloadError(.storageFailure), at: now) }
        guard wish == .run else { return obey(at: now) }
        switch next {
        case .connect: return connect(at: now)
        case .retry: return retry(pendingError ?? DownloadError(.connectionLost), at: now)
        case .fail: preconditionFailure("fail is dealt with above")
        }
    }

    private mutating func retry(_ error: DownloadError, at now: Duration) -> [TransferAction] {
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

    private mutating func backOff(for delay: Duration) -> [TransferAction] {
        meter.stop()
        delayCount += 1
        state = .backingOff(delayCount)
        return [.releasePermit, .scheduleRetry(delay, number: delayCount)]
    }

    private mutating func fail(_ error: DownloadError, at now: Duration) -> [TransferAction] {
        // Whoever discarded has left, and wants no trace more than a reason.
        if wish == .discard, isPartialOpen { return close(.discarding, at: now) }
        pendingError = error
        return close(.failing, at: now)
    }

    private mutating func close(_ closing: Closing, at now: Duration) -> [TransferAction] {
        let actions = rest(at: now)
        state = .closing(closing)
        guard isPartialOpen else { return actions + closed(.success(()), at: now) }
        if closing == .discarding { return actions + [.discardPartial] }
        return actions + [.closePartial(saving: representation == nil ? nil : received)]
    }

    private mutating func end(_ ending: TransferEnding) -> [TransferAction] {
        state = .ended
        exchange = nil
        return [.end(ending)]
    }

    private mutating func keepTicking() -> [TransferAction] {
        guard !isTicking else { return [] }
        isTicking = true
        return [.scheduleTick(settings.tickInterval)]
    }

    /// Whether an interruption now would cost nothing.
    var isResumable: Bool { representation?.validator != nil && representation?.contentCoding == nil }
}
