/// What the scheduler and the store answer.
extension TransferStateMachine {
    /// The permit that was asked for under this number came.
    mutating func permitGranted(_ number: Int, at now: Duration) -> [TransferAction] {
        // The permit crossed a stop: it has been given back already, or will be.
        guard state == .waiting, permitCount == number else { return [] }
        return obey(at: now)
    }

    /// The host that is to be talked to next has no room, and the permit is gone.
    mutating func moveRefused(_ number: Int, at now: Duration) -> [TransferAction] {
        // A stop came first, and has given the permit back.
        guard state == .waiting, permitCount == number else { return [] }
        permitHost = nil
        route.hasWaited = true
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
        case .failure(let error) where error.code == .partialInUse && wish == .run && settings.waitsForOwner:
            isPollingOwner = true
            return backOff(for: settings.ownerPollInterval, keepingOpen: false, at: now)
        case .failure(let error) where error.code == .tooManyOpenFiles && wish == .run:
            // Of the last opening; there is nothing to save now.
            saving = SavingSchedule()
            return retry(error, at: now)
        case .failure(let error):
            // Whoever wanted to discard, and cannot, has left already: there is nothing else to do.
            return wish == .pause || wish == .park ? close(.keeping, at: now) : fail(error, at: now)
        case .success(let finding):
            isPartialOpen = true
            hasTakenCredentials = false
            isPollingOwner = false
            saving = SavingSchedule()
            guard isPurging else { return take(finding, at: now) + obey(at: now) }
            isPurging = false
            // Whoever resumed meanwhile wants the bytes, and has no permit yet.
            return take(finding, at: now) + close(wish == .run ? .keeping : .purging, at: now)
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
            return known > 0 ? [.tell(.restarted(reason: reason, discardedByteCount: known))] : []
        case .bytes(let representation, let received):
            self.representation = representation
            self.received = received
            beginCredentialProof()
            holdBackUnprovenEnd()
            isPartialFilled = true
            saving.found(at: now)
            mostReceived = max(mostReceived, received.count)
            // What a restart gave up is back, where the partial was closed before the new representation.
            if known == 0 { forcedRestarts = 0 }
            let lost = known - self.received.count
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

    /// The partial is closed, and the next opening would find `kept`; nil where nothing was open, or nothing was to stay.
    mutating func closed(keeping kept: IntervalSet? = nil, at now: Duration) -> [TransferAction] {
        guard case .closing(let closing) = state else { preconditionFailure("closed in \(state)") }
        let wasOpen = isPartialOpen
        isPartialOpen = false
        let released = rest()
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
            return released + (purged > 0 ? [.tell(restart)] : []) + closedKeeping(at: now)
        case .failing where wish == .discard && wasOpen:
            return released + openPartial()
        case .failing:
            var error = pendingError ?? DownloadError(.storageFailure)
            error.bytesKept = received.count
            return released + end(.failed(error))
        case .keeping, .retrying, .refreshing, .moving:
            continuesWindows = false
            // A redirect's target is kept while its host has no room.
            if closing != .moving || wish != .run { route.reset() }
            // Rule 56: what could not be saved is told before anything is told of the rest.
            let restart = DownloadEvent.restarted(reason: .checkpointNotSaved, discardedByteCount: lost)
            return released + (lost > 0 ? [.tell(restart)] : []) + closedKeeping(closing, at: now)
        }
    }

    mutating func closedKeeping(_ closing: Closing = .keeping, at now: Duration) -> [TransferAction] {
        if wish != .run, case .refreshing = closing { return [.cancelRefresh] + closedKeeping(at: now) }
        switch wish {
        case .run:
            switch closing {
            case .retrying(let due): return wait(for: max(.zero, due - now))
            case .refreshing(let number):
                state = .refreshing(number)
                return []
            case .keeping, .moving, .failing, .discarding, .purging: return queue(at: now)
            }
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
        if case .failure(let error) = result, error.code == .checksumMismatch, mayBeginAgain { return beginAgain() }
        let ending: TransferEnding =
            switch result {
            case .success(let results): .finished(results)
            case .failure(let error): .failed(error)
            }
        return rest() + end(ending)
    }
}
