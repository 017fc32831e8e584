/// Permits, and the opening of the partial file.
extension TransferStateMachine {
    /// Requests a permit; the partial file is not open.
    ///
    /// - Parameter isRepeated: Whether the transfer is already waiting, for example for another process, and has
    ///   emitted this.
    mutating func requestPermit(isRepeated: Bool = false) -> [TransferAction] {
        if let offer = address.takeOffer() {
            replace(by: offer)
        }
        if let hindrance = networkHindrance { return awaitNetwork(hindrance) }
        let request = identifiers.permits.next()
        state = .waiting(request, address.origins)
        return (isRepeated ? [] : [.emit(.waiting(reason: .turn))]) + [.requestPermit(address.origins, request)]
    }

    /// Releases the permit, or withdraws the request for one, while no partial file is open.
    func releasePermit() -> [TransferAction] {
        switch state {
        case .waiting, .opening(.transferring): [.releasePermit]
        case .ready, .opening, .refreshing, .awaitingNetwork, .backingOff, .paused, .ended: []
        case .running, .closing, .finishing: preconditionFailure("a permit released in \(phase)")
        }
    }

    /// Handles the grant of the permit with this identifier.
    mutating func permitGranted(_ request: PermitRequestID, at now: Duration) -> [TransferAction] {
        if case .waiting(request, let origins) = state {
            if let hindrance = networkHindrance { return releasePermit() + awaitNetwork(hindrance) }
            return openPartial(.transferring(origins))
        }
        if isRunning, case .moving(request) = run.step { return applyIntent(at: now) }
        // The transfer was stopped at the same time as the grant; the stop releases the permit.
        return []
    }

    /// Handles that no permit is granted, because the origin can't be reached, or has accepted no request for too long.
    mutating func permitRefused(
        _ request: PermitRequestID, _ error: DownloadError, at now: Duration
    ) -> [TransferAction] {
        // If the transfer isn't waiting for this permit, it was stopped at the same time, and the stop withdrew the request.
        guard case .waiting(request, let origins) = state else { return [] }
        // A subscriber may have offered another URL in the meantime.
        if let offer = address.takeOffer() { replace(by: offer) }
        return address.origins == origins ? fail(error, at: now) : requestPermit()
    }

    /// Handles that the origin of the next request has no capacity, and that the permit is lost.
    mutating func moveRefused(_ request: PermitRequestID, at now: Duration) -> [TransferAction] {
        // If the transfer doesn't await this permit, it was stopped at the same time, and the stop released the permit.
        guard isRunning, case .moving(request) = run.step else { return [] }
        address.targetWaits()
        return close(.moving, at: now)
    }

    /// Handles that an exchange's request has to wait, because its origin currently permits no request.
    ///
    /// If it is the first exchange, the permit is lost. An extra exchange is requested again later.
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

    /// Makes the store open the partial file.
    mutating func openPartial(_ purpose: Opening) -> [TransferAction] {
        state = .opening(purpose)
        return [.openPartial(credentials: bytes.credentials)]
    }

    /// Handles the result of opening the partial file.
    ///
    /// - Parameters:
    ///   - allowsGaps: Whether bytes may be written far beyond the other bytes.
    ///   - relocates: Whether the transfer continues at another location after a failure.
    ///   - existing: The representation that all destinations already have.
    mutating func opened(
        _ result: Result<PartialFinding, DownloadError>, allowsGaps: Bool = true, relocates: Bool = false,
        existing: ExistingRepresentation? = nil, at now: Duration
    ) -> [TransferAction] {
        guard case .opening(let purpose) = state else { preconditionFailure("opened in \(phase)") }
        switch (result, purpose) {
        case (.failure, .purging) where intent == .pause:
            state = .paused
            return []
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
            // A subscriber that has resumed in the meantime needs the bytes; it has no permit yet.
            return take(finding) + closeFile(intent == .run ? .keeping : .purging)
        }
    }

    /// Begins a run with the found bytes, or applies another intent of the subscribers.
    private mutating func opened(
        _ finding: PartialFinding, _ origins: OriginPair, allowsGaps: Bool, existing: ExistingRepresentation?,
        at now: Duration
    ) -> [TransferAction] {
        let openedWith = bytes.credentials
        let actions = take(finding)
        var hasCheckpoint = false
        if case .bytes = finding { hasCheckpoint = true }
        // It is unknown here whether the checkpoint states that secret headers were sent.
        let recorded = hasCheckpoint && !credentials.isEmpty ? nil : openedWith
        beginRun(origins, allowsGaps: allowsGaps, recordedCredentials: recorded)
        if hasCheckpoint { run.foundCheckpoint(at: now) }
        // Rule 63: if bytes of an unfinished download exist, the existing files are not checked.
        if bytes.intervals.isEmpty { run.existing = existing }
        return actions + applyIntent(at: now)
    }

    /// Handles a failure to open the partial file.
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

    /// Records what was found on disk, and reports bytes that were lost.
    private mutating func take(_ finding: PartialFinding) -> [TransferAction] {
        let known = bytes.count
        switch finding {
        case .nothing:
            // Rule 5: bytes that couldn't be verified are not used.
            let reason: RestartReason = bytes.representation?.isProvable == false ? .noValidator : .partialMissing
            bytes.foundNothing()
            // Rule 56: the bytes existed before a pause.
            return known > 0 ? [.emit(.restarted(reason: reason, discardedByteCount: known))] : []
        case .bytes(let representation, let received):
            found(representation, received)
            bytes.partialOpened()
            budget.found(received.count)
            // If the partial file was closed before the new representation started, the discarded bytes are found
            // again.
            if known == 0 { budget.restartsUndone() }
            let lost = known - bytes.count
            return lost > 0 ? [.emit(.restarted(reason: .partialTruncated, discardedByteCount: lost))] : []
        case .unusable(let reason, let discarded):
            bytes.foundNothing()
            return [.emit(.restarted(reason: reason, discardedByteCount: discarded))]
        }
    }

    /// Records the bytes on disk and how they have to be verified.
    mutating func found(_ representation: Representation, _ received: IntervalSet) {
        bytes.found(representation, received, isChecksumExpected: settings.checksum != nil)
        requireProofOfCredentials()
        if representation.cameFromDifferentURL { address.requireVerification() }
    }
}
