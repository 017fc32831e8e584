/// The closing of the partial file, and what follows.
extension TransferStateMachine {
    /// Ends the transfer with an error, after the bytes are saved.
    mutating func fail(_ error: DownloadError, at now: Duration) -> [TransferAction] {
        // The discarding subscriber has detached, so discarding is more important than reporting the error.
        if intent == .discard, isRunning { return close(.discarding(holdsPermit: true), at: now) }
        return close(.failing(error), at: now)
    }

    /// Ends the run and makes the store save and close the partial file.
    ///
    /// If no run exists, the next step follows immediately.
    mutating func close(_ reason: CloseReason, at now: Duration) -> [TransferAction] {
        if isRunning {
            meter.stop()
            return endRun(.closing(reason)) + closeFile(reason)
        }
        let released = releasePermit()
        state = .closing(reason)
        return released + continueAfterClose(reason, losing: 0, wasOpen: false, at: now)
    }

    /// Makes the store save and close the open partial file.
    mutating func closeFile(_ reason: CloseReason) -> [TransferAction] {
        state = .closing(reason)
        switch reason {
        case .discarding, .purging:
            return [.discardPartial]
        case .failing(let error)
        where error.code == .unexpectedByteCount || error.code == .bodyTooLarge && !policies.wantsFile:
            // A body in memory can't be used by a later request with this limit. The bytes of a file are kept for a
            // request without a limit, unless the file has an unexpected length.
            bytes.kept(IntervalSet())
            return [.discardPartial]
        case .keeping, .failing, .retrying, .refreshing, .moving, .reusing:
            return [.closePartial(saving: bytes.representation == nil ? nil : bytes.intervals)]
        }
    }

    /// Handles that the partial file is closed.
    ///
    /// - Parameter kept: The bytes that the next opening would find; nil if nothing was to be kept.
    mutating func closed(keeping kept: IntervalSet? = nil, at now: Duration) -> [TransferAction] {
        guard case .closing(let reason) = state else { preconditionFailure("closed in \(phase)") }
        let lost = bytes.count - (kept ?? bytes.intervals).count
        // Bytes that a restart has discarded may be found again.
        if let kept, lost > 0 { bytes.kept(kept) }
        let released: [TransferAction]
        switch reason {
        // The transfer had no permit, or has lost it.
        case .purging, .moving, .discarding(holdsPermit: false): released = []
        case .keeping, .discarding, .failing, .retrying, .refreshing, .reusing: released = [.releasePermit]
        }
        return released + continueAfterClose(reason, losing: lost, wasOpen: true, at: now)
    }

    /// Performs the step that follows the reason, after the partial file is closed.
    ///
    /// - Parameters:
    ///   - lost: The number of received bytes that the next opening won't find.
    ///   - wasOpen: Whether a partial file was open.
    private mutating func continueAfterClose(
        _ reason: CloseReason, losing lost: Int64, wasOpen: Bool, at now: Duration
    ) -> [TransferAction] {
        switch reason {
        case .discarding:
            return end(.discarded)
        case .purging:
            let purged = bytes.discard()
            if purged == 0, intent == .pause {
                state = .paused
                return []
            }
            let restart = DownloadEvent.restarted(reason: .memoryPressure, discardedByteCount: purged)
            return (purged > 0 ? [.emit(restart)] : []) + continueWithBytesKept(.keeping, at: now)
        case .failing where intent == .discard && wasOpen:
            return openPartial(.discarding)
        case .failing(var error):
            error.retainedByteCount = bytes.count
            return end(.failed(error))
        case .keeping, .retrying, .refreshing, .moving, .reusing:
            // A remaining subscriber doesn't have the file, or the file has changed.
            if case .reusing = reason, intent == .run { strategy.ignoreExisting() }
            strategy.interrupted()
            // The target of a redirect is kept while its host has no capacity.
            if case .moving = reason, intent == .run {} else { address.reset() }
            // Rule 56: lost bytes are reported before any other event.
            let restart = DownloadEvent.restarted(reason: .checkpointNotSaved, discardedByteCount: lost)
            return (lost > 0 ? [.emit(restart)] : []) + continueWithBytesKept(reason, at: now)
        }
    }

    /// Performs the step that the subscribers want, after the partial file is closed and its bytes are kept.
    private mutating func continueWithBytesKept(_ reason: CloseReason, at now: Duration) -> [TransferAction] {
        var actions: [TransferAction] = []
        if intent != .run, case .refreshing = reason { actions.append(.cancelRefresh) }
        switch intent {
        case .run: return continueRunning(after: reason, at: now)
        case .pause:
            state = .paused
            return actions + [.emit(.paused(receivedByteCount: bytes.count))]
        case .abandon: return actions + end(.abandoned)
        case .discard: return actions + openPartial(.discarding)
        }
    }

    private mutating func continueRunning(after reason: CloseReason, at now: Duration) -> [TransferAction] {
        switch reason {
        case .retrying(let due): return wait(for: max(.zero, due - now))
        case .refreshing(let id):
            state = .refreshing(id)
            return []
        case .keeping, .moving, .reusing: return requestPermit()
        case .failing, .discarding, .purging: preconditionFailure("a run continues after \(reason)")
        }
    }

    /// Ends the transfer.
    mutating func end(_ ending: TransferEnding) -> [TransferAction] {
        state = .ended
        return leaveConnections() + [.end(ending)]
    }
}
