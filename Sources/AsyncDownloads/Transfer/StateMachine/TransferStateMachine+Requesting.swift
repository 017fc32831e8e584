internal import Foundation

/// Requests, and the decisions that follow from the heads of responses.
extension TransferStateMachine {
    /// Performs the next step: finishes if every byte is on disk, and otherwise starts the exchange for the next
    /// missing bytes.
    mutating func advance(at now: Duration) -> [TransferAction] {
        var actions = rollBackUnverified()
        if bytes.comparison == nil, bytes.isComplete, let representation = bytes.representation {
            actions += finish(representation, at: now)
            return actions
        }
        if networkHindrance != nil { return actions + close(.keeping, at: now) }
        // A URL that has waited for a permit may have become too old.
        address.willRequest(at: now, freshFor: Self.longestRefreshWithPermit)
        if policies.isRefreshable, address.hasExpired(at: now) { return actions + refresh(.expired, at: now) }
        // Rule 58: the limits of the request's origin apply; a redirect or a fresh URL changes the origin.
        if run.origins != address.origins {
            let request = identifiers.permits.next()
            run.move(to: address.origins, request)
            return actions + [.movePermit(address.origins, request)]
        }
        if policies.isAuthorizing, let request = address.authorizationRequest() {
            return actions + inquire { .authorize(request, $0) }
        }
        actions += recordCredentials()
        if let comparison = startComparison(at: now) { return actions + comparison }
        if !bytes.intervals.isEmpty, !bytes.isResumable {
            // Parts that couldn't be completed are not combined again.
            bytes.combiningFailed()
            actions += restart(.noValidator)
        }
        var range = strategy.range(from: bytes.intervals.prefixEnd, validator: bytes.representation?.validator)
        if let existing = askedRepresentation { range.condition = .ifNoneMatch(existing.validator) }
        actions += startExchange(range, at: now)
        return actions
    }

    /// Starts an exchange for these bytes.
    ///
    /// - Parameter compares: Whether the bytes are compared with the bytes on disk.
    mutating func startExchange(
        _ range: RequestedRange, compares: Bool = false, at now: Duration
    ) -> [TransferAction] {
        run.startSole(at: now)
        budget.requestSent()
        // The timer is set first, so that a check that is due while the engine returns the exchange isn't missed.
        var actions = keepTicking(at: now)
        let length = bytes.representation?.length
        actions += send(ExchangeProgress(request: range, compares: compares, length: length, at: now))
        return actions
    }

    /// Sends the request of an exchange.
    mutating func send(_ exchange: ExchangeProgress) -> [TransferAction] {
        let id = identifiers.exchanges.next()
        run.exchanges.insert(exchange, id: id)
        let redirects = exchange.isExtra ? run.extraAddress.redirects(address.redirects) : address.redirects
        let fields = address.headers(along: redirects, adding: exchange.request.fields)
        let request = ExchangeRequest(
            method: settings.method, url: redirects.current, headers: fields,
            sendsCredentials: redirects.permitsIdentity, networkAccess: policies.networkAccess)
        return [.startExchange(id, request)]
    }

    /// Schedules the next periodic check, unless one is already scheduled.
    mutating func keepTicking(at now: Duration) -> [TransferAction] {
        guard meter.scheduleTick() else { return [] }
        let interval = policies.tickInterval
        return [.scheduleTick(run.extras.tickInterval(run.exchanges, at: now).map { min(interval, $0) } ?? interval)]
    }

    /// Handles the head of an exchange, after which its body may flow according to the reply.
    mutating func headArrived(
        _ head: ResponseHead, exchange id: ExchangeID, at now: Duration, date: HTTPDate
    ) -> (reply: HeadReply, actions: [TransferAction]) {
        // The exchange may have been canceled at the same time.
        guard let exchange = liveExchange(id), case .connecting = exchange.phase, !exchange.isCanceled
        else { return (.proceed, []) }
        run.exchanges.update(id) { exchange in
            exchange.keepAlive(at: now)
            // The head may arrive before the report that the network is available again.
            if exchange.isWaitingForConnectivity { exchange.connected(at: now) }
        }
        if exchange.isExtra {
            return (.proceed, handleExtra(decideExtra(head, exchange, date: date), id, at: now))
        }
        let interpreter = interpreter(of: exchange, date: date)
        let actions =
            exchange.compares
            ? handleComparison(interpreter.decideComparison(head), head, id, at: now)
            : handle(interpreter.decide(head), head, id, at: now)
        return (reply(to: id), actions)
    }

    /// Returns the interpreter of the response to an exchange that isn't an extra exchange.
    func interpreter(of exchange: ExchangeProgress, date: HTTPDate) -> ResponseInterpreter {
        ResponseInterpreter(
            requested: exchange.request, known: bytes.representation, received: bytes.intervals.prefixEnd,
            url: address.url.absoluteString, decodesContent: settings.decodesContent, date: date,
            requiresVerification: address.requiresVerification || run.existing?.requiresValidator ?? false,
            mayDropCondition: strategy.mayDropCondition,
            toleratesChange: toleratesChange,
            existing: run.existing?.representation)
    }

    /// Handles that other files of the host release connections after a refusal, which is reported next.
    mutating func extrasWereReleased() {
        budget.extrasWereReleased()
    }

    /// Handles that the head or the end of an exchange that is reported next is assumed to concern all requests to the
    /// origin.
    mutating func originFailed(at now: Duration) {
        budget.originFailed(isDirect: address.origins.isDirect, at: now)
    }

    private func decideExtra(_ head: ResponseHead, _ exchange: ExchangeProgress, date: HTTPDate) -> SegmentDecision {
        guard let known = bytes.representation else {
            preconditionFailure("an extra exchange without a representation")
        }
        return SegmentInterpreter(
            requested: exchange.request, known: known, weakTag: bytes.entityTag,
            isChecksumExpected: settings.checksum != nil,
            url: run.extraAddress.redirects(address.redirects).current.absoluteString, date: date
        ).decide(head)
    }

    /// The action that the callback must perform before it returns after reporting a head.
    enum HeadReply: Sendable, Hashable {
        /// Let the body flow or complete.
        case proceed
        /// Start an empty partial file for this representation, report `partialStarted`, and let the body flow.
        case start(Representation)
        /// Hold the body back until `openGate`.
        case holdBack
    }

    private func reply(to id: ExchangeID) -> HeadReply {
        guard case .preparing(let preparation) = liveExchange(id)?.phase else { return .proceed }
        return switch preparation {
        case .starting(let representation): .start(representation)
        case .store: .holdBack
        }
    }

    /// Handles the decision about a head.
    mutating func handle(
        _ decision: ResponseDecision, _ head: ResponseHead, _ id: ExchangeID, at now: Duration
    ) -> [TransferAction] {
        if case .retryRequest = decision { address.accepted() }
        switch decision {
        case .append(let continuation):
            let actions = append(continuation, head, id, at: now)
            if head.headers.refusesRanges { run.extras.turnOff() }
            return actions
        case .begin(let representation, let end, let reason):
            let actions = start(representation, end: end, reason: reason, head, id, at: now)
            bytes.began(entityTag: head.headers.singleton("ETag").value)
            if head.headers.refusesRanges { run.extras.turnOff() }
            return actions
        case .complete(let length):
            bytes.settleLength(length)
            return confirmImport() + drain(.advance, at: now)
        case .retryRequest(.unbounded):
            strategy.useUnbounded()
            return drain(.advance, at: now)
        case .unchanged:
            return drain(.reuse, canceling: false, at: now)
        case .retryRequest(.withoutCondition) where run.exchanges[id]?.request.isRevalidation == true:
            strategy.ignoreExisting()
            return drain(.advance, canceling: !hasShortBody(head), at: now)
        case .retryRequest(.withoutCondition):
            strategy.dropCondition()
            return drain(.advance, at: now)
        case .retryRequest(.everything(let reason)):
            return requestEverything(reason, at: now)
        case .redirect(let location):
            if let error = address.follow(location) { return drain(.fail(error.concerning(head)), at: now) }
            address.followed(head)
            return drain(.advance, canceling: !hasShortBody(head), at: now)
        case .fail(let failure):
            return refused(failure, head, at: now)
        }
    }

    private mutating func append(
        _ continuation: ResponseDecision.Continuation, _ head: ResponseHead, _ id: ExchangeID, at now: Duration
    ) -> [TransferAction] {
        let new = continuation.representation
        if let error = tooLarge(new.length) { return drain(.fail(error), at: now) }
        let old = bytes.representation
        if old?.validator != new.validator { strategy.restoreCondition() }
        let becomesUnverified = old?.unverifiedFrom != new.unverifiedFrom
        bytes.continued(as: new, responses: address.responses(endingWith: head))
        var actions: [TransferAction] = old != new ? [.updateRepresentation(new)] : []
        actions += confirmImport()
        run.exchanges.update(id) {
            $0.accept(
                skipping: continuation.skipped, end: continuation.end, preparation: becomesUnverified ? .store : nil)
        }
        acceptFirst(id, end: continuation.end, at: now)
        strategy.rangeAnswered()
        address.answered()
        if !becomesUnverified { meter.start(at: now) }
        actions += emitStart()
        // The next window of an undisturbed download isn't a resumption.
        if !strategy.continuesWindows { actions.append(.emit(.resumed(fromOffset: bytes.intervals.prefixEnd))) }
        strategy.bodyStarted()
        // The record is written before the first byte that would otherwise seem verified arrives.
        return actions + (becomesUnverified ? [.recordPartial(bytes.intervals, exchange: id)] : [])
    }

    private mutating func start(
        _ new: Representation, end: Int64?, reason: RestartReason?, _ head: ResponseHead, _ id: ExchangeID,
        at now: Duration
    ) -> [TransferAction] {
        if let error = tooLarge(new.length ?? end) { return drain(.fail(error), at: now) }
        run.existing = nil
        var actions = restart(reason ?? .contentChanged, at: now)
        bytes.started(new, credentials: credentials, responses: address.responses(endingWith: head))
        let replacesBytes = bytes.isPartialFilled
        run.exchanges.update(id) { $0.acceptWhole(end: end, preparation: replacesBytes ? .store : .starting(new)) }
        acceptFirst(id, end: end, at: now)
        run.representationStarted()
        address.answered()
        strategy.bodyStarted()
        actions += emitStart()
        if replacesBytes { actions.append(.startPartial(new, exchange: id)) }
        return actions
    }

    /// Assigns the missing bytes to an exchange that was started while no other exchange was in progress.
    private mutating func acceptFirst(_ id: ExchangeID, end: Int64?, at now: Duration) {
        guard let exchange = run.exchanges[id] else { preconditionFailure("an unknown exchange was accepted") }
        let acceptance = run.exchanges.assign(
            from: exchange.position, responseEnd: end, length: bytes.representation?.length, to: id,
            received: bytes.intervals, at: now)
        precondition(acceptance != .late, "exchange \(id) begins at \(exchange.position), which is received")
        run.extras.bodyStarted(
            missing: bytes.representation?.length.map { $0 - bytes.count }, from: Origin(address.redirects.current),
            at: now)
    }

    /// Removes the file from which bytes were imported, if a server has confirmed the bytes.
    private mutating func confirmImport() -> [TransferAction] {
        bytes.confirmImport() ? [.removeImportedFile] : []
    }

    private mutating func emitStart() -> [TransferAction] {
        meter.emitStart() ? [.emit(started)] : []
    }
}
