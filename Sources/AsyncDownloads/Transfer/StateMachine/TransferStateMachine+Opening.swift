/// Permits, and opening and closing the partial file.
extension TransferStateMachine {
    /// Waits for a permit; nothing is open.
    ///
    /// - Parameter isRepeated: Whether the transfer waits for another process, and has emitted the first time that it
    ///   waits.
    mutating func requestPermit(isRepeated: Bool = false) -> [TransferAction] {
        if let offer = address.takeOffer() {
            replace(by: offer)
        }
        if let hindrance = networkHindrance { return awaitNetwork(hindrance) }
        let request = identifiers.permits.next()
        state = .waiting(request, address.origins)
        return (isRepeated ? [] : [.emit(.waiting(reason: .turn))]) + [.requestPermit(address.origins, request)]
    }

    /// Releases the permit, or withdraws the request for one, where no partial file is open.
    func releasePermit() -> [TransferAction] {
        switch state {
        case .waiting, .opening(.transferring): [.releasePermit]
        case .ready, .opening, .refreshing, .awaitingNetwork, .backingOff, .paused, .ended: []
        case .running, .closing, .finishing: preconditionFailure("a permit released in \(phase)")
        }
    }

    /// Handles the permit that was requested under this identifier.
    mutating func permitGranted(_ request: PermitRequestID, at now: Duration) -> [TransferAction] {
        if case .waiting(request, let origins) = state {
            if let hindrance = networkHindrance { return releasePermit() + awaitNetwork(hindrance) }
            return openPartial(.transferring(origins))
        }
        if isRunning, case .moving(request) = run.step { return applyIntent(at: now) }
        // The race of a grant with a stop, which has released the permit or will.
        return []
    }

    /// Handles that no connection with the origin can be established, so that no permit is granted.
    mutating func permitRefused(
        _ request: PermitRequestID, _ error: DownloadError, at now: Duration
    ) -> [TransferAction] {
        // Otherwise the race of a refusal with a stop, which has withdrawn the request.
        guard case .waiting(request, let origins) = state else { return [] }
        // A subscriber has offered another URL in the meantime.
        if let offer = address.takeOffer() { replace(by: offer) }
        return address.origins == origins ? fail(error, at: now) : requestPermit()
    }

    /// Handles that the origin of the next request has no room, and that the permit is lost.
    mutating func moveRefused(_ request: PermitRequestID, at now: Duration) -> [TransferAction] {
        // The race of a refusal with a stop, which has released the permit.
        guard isRunning, case .moving(request) = run.step else { return [] }
        address.targetWaits()
        return close(.moving, at: now)
    }

    /// Handles that the request of an exchange has to wait, because its origin permits none now.
    ///
    /// The permit of a first exchange is lost. An extra exchange is requested again later.
    mutating func requestHeld(_ id: ExchangeID, at now: Duration) -> [TransferAction] {
        guard let exchange = liveExchange(id), !exchange.isCanceled else {
            return exchangeEnded(.cancelled, exchange: id, at: now)
        }
        run.exchanges.remove(id)
        if exchange.isExtra {
            run.extras.held(at: now)
            return run.exchanges.isEmpty ? proceed(.advance, at: now) : []
        }
        address.targetWaits()
        return close(.moving, at: now)
    }

    mutating func openPartial(_ purpose: Opening) -> [TransferAction] {
        state = .opening(purpose)
        return [.openPartial(credentials: bytes.credentials)]
    }

    /// Handles the result of opening the partial file.
    ///
    /// - Parameters:
    ///   - allowsGaps: Whether bytes may be written far behind the others.
    ///   - relocates: Whether the transfer continues at another location after a failure.
    ///   - existing: The representation that all destinations have already.
    mutating func opened(
        _ result: Result<PartialFinding, DownloadError>, allowsGaps: Bool = true, relocates: Bool = false,
        existing: ExistingRepresentation? = nil, at now: Duration
    ) -> [TransferAction] {
        guard case .opening(let purpose) = state else { preconditionFailure("opened in \(phase)") }
        switch (result, purpose) {
        case (.failure, .purging):
            return close(.keeping, at: now)
        case (.failure, .transferring) where relocates && intent == .run:
            return close(.keeping, at: now)
        case (.failure(let error), .transferring), (.failure(let error), .discarding):
            return openingFailed(error, at: now)
        case (.success(let finding), .transferring(let origins)):
            return opened(finding, origins, allowsGaps: allowsGaps, existing: existing, at: now)
        case (.success(let finding), .discarding):
            return take(finding) + closeFile(.discarding(holdsPermit: false))
        case (.success(let finding), .purging):
            // A subscriber that has resumed meanwhile wants the bytes, and has no permit yet.
            return take(finding) + closeFile(intent == .run ? .keeping : .purging)
        }
    }

    /// Begins a run with what was found, or does what the subscribers want instead.
    private mutating func opened(
        _ finding: PartialFinding, _ origins: OriginPair, allowsGaps: Bool, existing: ExistingRepresentation?,
        at now: Duration
    ) -> [TransferAction] {
        let openedWith = bytes.credentials
        let actions = take(finding)
        var hasCheckpoint = false
        if case .bytes = finding { hasCheckpoint = true }
        // Whether a checkpoint says that secret headers were sent is not known here.
        let recorded = hasCheckpoint && !credentials.isEmpty ? nil : openedWith
        beginRun(origins, allowsGaps: allowsGaps, recordedCredentials: recorded)
        if hasCheckpoint { run.foundCheckpoint(at: now) }
        // Rule 63: the bytes of an unfinished download are worth more than the question.
        if bytes.intervals.isEmpty { run.existing = existing }
        return actions + applyIntent(at: now)
    }

    private mutating func openingFailed(_ error: DownloadError, at now: Duration) -> [TransferAction] {
        switch intent {
        case .run where error.code == .partialInUse && settings.waitsForOwner:
            return releasePermit() + wait(for: settings.ownerPollInterval, pollsOwner: true)
        case .run where error.code == .tooManyOpenFiles:
            return retry(error, at: now)
        // The discarding subscriber has already detached, so no subscriber is left to receive this error.
        case .run, .discard:
            return fail(error, at: now)
        case .pause, .abandon:
            return close(.keeping, at: now)
        }
    }

    private mutating func take(_ finding: PartialFinding) -> [TransferAction] {
        let known = bytes.count
        switch finding {
        case .nothing:
            // Rule 5: bytes that nothing could verify aren't imported either.
            let reason: RestartReason = bytes.representation?.isProvable == false ? .noValidator : .partialMissing
            bytes.foundNothing()
            // Rule 56: the bytes existed before a pause.
            return known > 0 ? [.emit(.restarted(reason: reason, discardedByteCount: known))] : []
        case .bytes(let representation, let received):
            found(representation, received)
            bytes.partialOpened()
            budget.found(received.count)
            // The bytes of a restart were found after all, where the partial file was closed before the new
            // representation.
            if known == 0 { budget.restartsUndone() }
            let lost = known - bytes.count
            return lost > 0 ? [.emit(.restarted(reason: .partialTruncated, discardedByteCount: lost))] : []
        case .unusable(let reason, let discarded):
            bytes.foundNothing()
            return [.emit(.restarted(reason: reason, discardedByteCount: discarded))]
        }
    }

    /// Records the bytes that are on disk, and what has to verify them.
    mutating func found(_ representation: Representation, _ received: IntervalSet) {
        bytes.found(representation, received, isChecksumExpected: settings.checksum != nil)
        requireProofOfCredentials()
        if representation.cameFromDifferentURL { address.requireVerification() }
    }
}

// MARK: - Closing

extension TransferStateMachine {
    /// Ends the transfer with an error, after the bytes are saved.
    mutating func fail(_ error: DownloadError, at now: Duration) -> [TransferAction] {
        // The discarding subscriber has detached, and wants no trace more than an error.
        if intent == .discard, isRunning { return close(.discarding(holdsPermit: true), at: now) }
        return close(.failing(error), at: now)
    }

    /// Ends the run, if there is one, and has the store save and close the partial file; without one, the step that
    /// follows is taken at once.
    mutating func close(_ reason: CloseReason, at now: Duration) -> [TransferAction] {
        if isRunning {
            meter.stop()
            return endRun(.closing(reason)) + closeFile(reason)
        }
        let released = releasePermit()
        state = .closing(reason)
        return released + left(reason, losing: 0, wasOpen: false, at: now)
    }

    /// Has the store save and close the open partial file.
    private mutating func closeFile(_ reason: CloseReason) -> [TransferAction] {
        state = .closing(reason)
        switch reason {
        case .discarding, .purging:
            return [.discardPartial]
        case .failing(let error)
        where error.code == .unexpectedByteCount || error.code == .bodyTooLarge && !policies.wantsFile:
            // A body for memory: no later request with this limit could use its bytes. The bytes of a file are kept,
            // for a request without a limit, unless the file is another one than expected.
            bytes.kept(IntervalSet())
            return [.discardPartial]
        case .keeping, .failing, .retrying, .refreshing, .moving, .reusing:
            return [.closePartial(saving: bytes.representation == nil ? nil : bytes.intervals)]
        }
    }

    /// Handles that the partial file is closed.
    ///
    /// - Parameter kept: What the next opening would find; nil if nothing was to be kept.
    mutating func closed(keeping kept: IntervalSet? = nil, at now: Duration) -> [TransferAction] {
        guard case .closing(let reason) = state else { preconditionFailure("closed in \(phase)") }
        let lost = bytes.count - (kept ?? bytes.intervals).count
        // Bytes that a restart has discarded may be found again.
        if let kept, lost > 0 { bytes.kept(kept) }
        let released: [TransferAction]
        switch reason {
        // There was none, or it is lost.
        case .purging, .moving, .discarding(holdsPermit: false): released = []
        case .keeping, .discarding, .failing, .retrying, .refreshing, .reusing: released = [.releasePermit]
        }
        return released + left(reason, losing: lost, wasOpen: true, at: now)
    }

    /// Takes the step that follows when nothing is open.
    private mutating func left(
        _ reason: CloseReason, losing lost: Int64, wasOpen: Bool, at now: Duration
    ) -> [TransferAction] {
        switch reason {
        case .discarding:
            return end(.discarded)
        case .purging:
            let purged = bytes.discard()
            let restart = DownloadEvent.restarted(reason: .memoryPressure, discardedByteCount: purged)
            return (purged > 0 ? [.emit(restart)] : []) + closedKeeping(.keeping, at: now)
        case .failing where intent == .discard && wasOpen:
            return openPartial(.discarding)
        case .failing(var error):
            error.retainedByteCount = bytes.count
            return end(.failed(error))
        case .keeping, .retrying, .refreshing, .moving, .reusing:
            // A subscriber that is left has no such file, or something has changed it.
            if case .reusing = reason, intent == .run { strategy.ignoreExisting() }
            strategy.interrupted()
            // The target of a redirect is kept while its host has no room.
            if case .moving = reason, intent == .run {} else { address.reset() }
            // Rule 56: lost bytes are reported before anything else.
            let restart = DownloadEvent.restarted(reason: .checkpointNotSaved, discardedByteCount: lost)
            return (lost > 0 ? [.emit(restart)] : []) + closedKeeping(reason, at: now)
        }
    }

    private mutating func closedKeeping(_ reason: CloseReason, at now: Duration) -> [TransferAction] {
        switch intent {
        case .run:
            switch reason {
            case .retrying(let due): return wait(for: max(.zero, due - now))
            case .refreshing(let id):
                state = .refreshing(id)
                return []
            case .keeping, .moving, .reusing, .failing, .discarding, .purging: return requestPermit()
            }
        case .pause, .abandon, .discard:
            var actions: [TransferAction] = []
            if case .refreshing = reason { actions.append(.cancelRefresh) }
            return actions + closedStopping()
        }
    }

    private mutating func closedStopping() -> [TransferAction] {
        switch intent {
        case .run: preconditionFailure("closed to stop although the transfer is to run")
        case .pause:
            state = .paused
            return [.emit(.paused(receivedByteCount: bytes.count))]
        case .abandon: return end(.abandoned)
        case .discard: return openPartial(.discarding)
        }
    }

    mutating func end(_ ending: TransferEnding) -> [TransferAction] {
        state = .ended
        return leaveConnections() + [.end(ending)]
    }
}
