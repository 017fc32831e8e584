/// What the scheduler and the store answer.
extension TransferStateMachine {
    /// The permit that was asked for under this number came.
    mutating func permitGranted(_ number: Int, at now: Duration) -> [TransferAction] {
        // The permit crossed a stop: it has been given back already, or will be.
        guard state == .waiting, permitCount == number else { return [] }
        return applyIntent(at: now)
    }

    /// The host that is to be talked to next has no room, and the permit is gone.
    mutating func moveRefused(_ number: Int, at now: Duration) -> [TransferAction] {
        // A stop came first, and has given the permit back.
        guard state == .waiting, permitCount == number else { return [] }
        permitHost = nil
        redirects.hasWaited = true
        return close(.moving, at: now)
    }

    /// The store opened the partial, or could not.
    mutating func opened(_ result: Result<PartialFinding, DownloadError>, at now: Duration) -> [TransferAction] {
        guard state == .opening else { preconditionFailure("opened in \(state)") }
        if isPurging, case .failure = result {
            isPurging = false
            return close(.keeping, at: now)
        }
        switch result {
        case .failure(let error) where error.code == .partialInUse && intent == .run && settings.waitsForOwner:
            isPollingOwner = true
            return backOff(for: settings.ownerPollInterval, keepingOpen: false, at: now)
        case .failure(let error) where error.code == .tooManyOpenFiles && intent == .run:
            // Of the last opening; there is nothing to save now.
            checkpoints = CheckpointSchedule()
            return retry(error, at: now)
        case .failure(let error):
            // Whoever wanted to discard, and cannot, has left already: there is nothing else to do.
            return intent == .pause || intent == .abandon ? close(.keeping, at: now) : fail(error, at: now)
        case .success(let finding):
            isPartialOpen = true
            hasTakenCredentials = false
            isPollingOwner = false
            checkpoints = CheckpointSchedule()
            guard isPurging else { return take(finding, at: now) + applyIntent(at: now) }
            isPurging = false
            // Whoever resumed meanwhile wants the bytes, and has no permit yet.
            return take(finding, at: now) + close(intent == .run ? .keeping : .purging, at: now)
        }
    }

    private mutating func take(_ finding: PartialFinding, at now: Duration) -> [TransferAction] {
        let known = received.count
        switch finding {
        case .nothing:
            // Rule 5: what nothing could prove is not taken over from elsewhere, either.
            let reason: RestartReason = representation?.isProvable == false ? .noValidator : .partialMissing
            representation = nil
            received = IntervalSet()
            // Rule 56: they were there before a pause.
            return known > 0 ? [.emit(.restarted(reason: reason, discardedByteCount: known))] : []
        case .bytes(let representation, let received):
            self.representation = representation
            self.received = received
            startCredentialProof()
            withholdUnverifiedEnd()
            isPartialFilled = true
            checkpoints.found(at: now)
            mostReceived = max(mostReceived, received.count)
            // What a restart gave up is back, where the partial was closed before the new representation.
            if known == 0 { forcedRestarts = 0 }
            let lost = known - self.received.count
            return lost > 0 ? [.emit(.restarted(reason: .partialTruncated, discardedByteCount: lost))] : []
        case .unusable(let reason, let discarded):
            representation = nil
            received = IntervalSet()
            return [.emit(.restarted(reason: reason, discardedByteCount: discarded))]
        }
    }

    /// The checkpoint asked for by `savePartial` is written, or could not be: it costs bytes only after a crash.
    mutating func saved() -> [TransferAction] {
        checkpoints.isUnderWay = false
        return []
    }

    /// The partial is closed, and the next opening would find `kept`; nil where nothing was open, or nothing was to stay.
    mutating func closed(keeping kept: IntervalSet? = nil, at now: Duration) -> [TransferAction] {
        guard case .closing(let closing) = state else { preconditionFailure("closed in \(state)") }
        let wasOpen = isPartialOpen
        isPartialOpen = false
        let released = releasePermit()
        let lost = received.count - (kept ?? received).count
        // Where a restart has forgotten them, bytes may be there all the same.
        if let kept, lost > 0 { received = kept }
        switch closing {
        case .discarding:
            return released + end(.discarded)
        case .purging:
            let purged = received.count
            (received, representation) = (IntervalSet(), nil)
            let restart = DownloadEvent.restarted(reason: .memoryPressure, discardedByteCount: purged)
            return released + (purged > 0 ? [.emit(restart)] : []) + closedKeeping(at: now)
        case .failing where intent == .discard && wasOpen:
            return released + openPartial()
        case .failing:
            var error = pendingError ?? DownloadError(.storageFailure)
            error.retainedByteCount = received.count
            return released + end(.failed(error))
        case .keeping, .retrying, .refreshing, .moving:
            continuesWindows = false
            // A redirect's target is kept while its host has no room.
            if closing != .moving || intent != .run { redirects.reset() }
            // Rule 56: what could not be saved is told before anything is told of the rest.
            let restart = DownloadEvent.restarted(reason: .checkpointNotSaved, discardedByteCount: lost)
            return released + (lost > 0 ? [.emit(restart)] : []) + closedKeeping(closing, at: now)
        }
    }

    mutating func closedKeeping(_ closing: CloseReason = .keeping, at now: Duration) -> [TransferAction] {
        if intent != .run, case .refreshing = closing { return [.cancelRefresh] + closedKeeping(at: now) }
        switch intent {
        case .run:
            switch closing {
            case .retrying(let due): return wait(for: max(.zero, due - now))
            case .refreshing(let number):
                state = .refreshing(number)
                return []
            case .keeping, .moving, .failing, .discarding, .purging: return requestPermit(at: now)
            }
        case .pause:
            state = .paused
            return [.emit(.paused(receivedByteCount: received.count))]
        case .abandon:
            return end(.abandoned)
        case .discard:
            return openPartial()
        }
    }

    /// The file is verified and in place, or not.
    mutating func finished(
        _ result: Result<[Int: Result<DownloadedFile, DownloadError>], DownloadError>, at now: Duration
    ) -> [TransferAction] {
        guard state == .finishing else { preconditionFailure("finished in \(state)") }
        if case .failure(let error) = result, error.code == .checksumMismatch, mayRestartUnverified {
            return restartUnverified()
        }
        let ending: TransferEnding =
            switch result {
            case .success(let results): .finished(results)
            case .failure(let error): .failed(error)
            }
        return releasePermit() + end(ending)
    }
}
