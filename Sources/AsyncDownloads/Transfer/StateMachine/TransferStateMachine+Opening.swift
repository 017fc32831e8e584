/// Permits, and opening and closing the partial file.
extension TransferStateMachine {
    /// Waits for a permit; nothing is open.
    mutating func requestPermit() -> [TransferAction] {
        if let offer = address.takeOffer() {
            replace(by: offer)
        }
        let request = permit.request(for: address.host)
        state = .waiting(request)
        // A transfer that waits for another process has emitted this the first time.
        return (isPollingOwner ? [] : [.emit(.waiting(reason: .turn))]) + [.requestPermit(host: address.host, request)]
    }

    /// Releases the permit, or withdraws the request for one; nothing is open any more.
    mutating func releasePermit() -> [TransferAction] {
        meter.stop()
        return permit.release() ? [.releasePermit] : []
    }

    /// Handles the permit that was requested under this identifier.
    mutating func permitGranted(_ request: PermitRequestID, at now: Duration) -> [TransferAction] {
        // The race of a grant with a stop, which has released the permit or will.
        guard case .waiting(request) = state else { return [] }
        return applyIntent(at: now)
    }

    /// Handles that the host of the next request has no room, and that the permit is lost.
    mutating func moveRefused(_ request: PermitRequestID, at now: Duration) -> [TransferAction] {
        // The race of a refusal with a stop, which has released the permit.
        guard case .waiting(request) = state else { return [] }
        _ = permit.release()
        address.targetWaits()
        return close(.moving, at: now)
    }

    /// Handles that the request of an exchange has to wait, because its host permits none now.
    ///
    /// The permit of a first exchange is lost. An extra exchange is requested again later.
    mutating func requestHeld(_ id: ExchangeID, at now: Duration) -> [TransferAction] {
        guard case .exchanging = state, let exchange = exchanges[id], !exchange.isCanceled else {
            return exchangeEnded(.cancelled, exchange: id, at: now)
        }
        exchanges.remove(id)
        if exchange.isExtra {
            extras.held(at: now)
            return exchanges.isEmpty ? proceed(.advance, at: now) : []
        }
        _ = permit.release()
        address.targetWaits()
        return close(.moving, at: now)
    }

    mutating func openPartial(_ purpose: Opening = .transferring) -> [TransferAction] {
        state = .opening(purpose)
        recordedCredentials = bytes.credentials
        return [.openPartial(credentials: bytes.credentials)]
    }

    /// Handles the result of opening the partial file.
    ///
    /// - Parameters:
    ///   - relocates: Whether the transfer continues at another location after a failure.
    ///   - existing: The representation that all destinations have already.
    mutating func opened(
        _ result: Result<PartialFinding, DownloadError>, relocates: Bool = false,
        existing: ExistingRepresentation? = nil, at now: Duration
    ) -> [TransferAction] {
        guard case .opening(let purpose) = state else { preconditionFailure("opened in \(phase)") }
        switch (result, purpose) {
        case (.failure, .purging):
            return close(.keeping, at: now)
        case (.failure, .transferring) where relocates && intent == .run:
            return close(.keeping, at: now)
        case (.failure(let error), .transferring):
            return openingFailed(error, at: now)
        case (.success(let finding), _):
            isPartialOpen = true
            isPollingOwner = false
            checkpoints = CheckpointSchedule()
            var actions = take(finding, at: now)
            // Rule 63: the bytes of an unfinished download are worth more than the question.
            self.existing = bytes.intervals.isEmpty ? existing : nil
            switch purpose {
            case .transferring: actions += applyIntent(at: now)
            // A subscriber that has resumed meanwhile wants the bytes, and has no permit yet.
            case .purging: actions += close(intent == .run ? .keeping : .purging, at: now)
            }
            return actions
        }
    }

    private mutating func openingFailed(_ error: DownloadError, at now: Duration) -> [TransferAction] {
        switch intent {
        case .run where error.code == .partialInUse && settings.waitsForOwner:
            isPollingOwner = true
            return backOff(for: settings.ownerPollInterval, keepsPermit: false, at: now)
        case .run where error.code == .tooManyOpenFiles:
            // The schedule is that of the last opening, and nothing is left to save.
            checkpoints = CheckpointSchedule()
            return retry(error, at: now)
        // The discarding subscriber has already detached, so no subscriber is left to receive this error.
        case .run, .discard:
            return fail(error, at: now)
        case .pause, .abandon:
            return close(.keeping, at: now)
        }
    }

    private mutating func take(_ finding: PartialFinding, at now: Duration) -> [TransferAction] {
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
            checkpoints.found(at: now)
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
        // Whether it says that secret headers were sent is not known here.
        if !credentials.isEmpty { recordedCredentials = nil }
        requireProofOfCredentials()
        if representation.cameFromDifferentURL { address.requireVerification() }
    }
}

// MARK: - Closing

extension TransferStateMachine {
    /// Ends the transfer with an error, after the bytes are saved.
    mutating func fail(_ error: DownloadError, at now: Duration) -> [TransferAction] {
        // The discarding subscriber has detached, and wants no trace more than an error.
        if intent == .discard, isPartialOpen { return close(.discarding, at: now) }
        return close(.failing(error), at: now)
    }

    /// Saves and closes the partial file if it is open.
    mutating func close(_ reason: CloseReason, at now: Duration) -> [TransferAction] {
        state = .closing(reason)
        guard isPartialOpen else { return closed(at: now) }
        meter.stop()
        switch reason {
        case .discarding, .purging:
            return [.discardPartial]
        case .failing(let error) where error.code == .bodyTooLarge && !demands.wantsFile:
            // A body for memory: no later request with this limit could use its bytes. The bytes of a file are kept,
            // for a request without a limit.
            bytes.kept(IntervalSet())
            return [.discardPartial]
        case .keeping, .failing, .retrying, .refreshing, .moving, .reusing:
            return [.closePartial(saving: bytes.representation == nil ? nil : bytes.intervals)]
        }
    }

    /// Handles that the partial file is closed.
    ///
    /// - Parameter kept: What the next opening would find; nil if nothing was open or nothing was to be kept.
    mutating func closed(keeping kept: IntervalSet? = nil, at now: Duration) -> [TransferAction] {
        guard case .closing(let reason) = state else { preconditionFailure("closed in \(phase)") }
        let wasOpen = isPartialOpen
        isPartialOpen = false
        let released = releasePermit()
        let lost = bytes.count - (kept ?? bytes.intervals).count
        // Bytes that a restart has discarded may be found again.
        if let kept, lost > 0 { bytes.kept(kept) }
        switch reason {
        case .discarding:
            return released + end(.discarded)
        case .purging:
            let purged = bytes.discard()
            let restart = DownloadEvent.restarted(reason: .memoryPressure, discardedByteCount: purged)
            return released + (purged > 0 ? [.emit(restart)] : []) + closedKeeping(.keeping, at: now)
        case .failing where intent == .discard && wasOpen:
            return released + openPartial()
        case .failing(var error):
            error.retainedByteCount = bytes.count
            return released + end(.failed(error))
        case .keeping, .retrying, .refreshing, .moving, .reusing:
            // A subscriber that is left has no such file, or something has changed it.
            if case .reusing = reason, intent == .run { ignoresExisting = true }
            strategy.interrupted()
            // The target of a redirect is kept while its host has no room.
            if case .moving = reason, intent == .run {} else { address.reset() }
            // Rule 56: lost bytes are reported before anything else.
            let restart = DownloadEvent.restarted(reason: .checkpointNotSaved, discardedByteCount: lost)
            return released + (lost > 0 ? [.emit(restart)] : []) + closedKeeping(reason, at: now)
        }
    }

    private mutating func closedKeeping(_ reason: CloseReason, at now: Duration) -> [TransferAction] {
        switch intent {
        case .run:
            switch reason {
            case .retrying(let due): return wait(for: max(.zero, due - now))
            case .refreshing(let id):
                state = .refreshing(id, permitTimer: nil)
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
        case .discard: return openPartial()
        }
    }

    mutating func end(_ ending: TransferEnding) -> [TransferAction] {
        state = .ended
        return [.end(ending)]
    }
}
