/// Periodic checks of running exchanges, checkpoints, and marks.
extension TransferStateMachine {
    /// Handles that a mark is due; see ``MarkSchedule``.
    mutating func markDue(at now: Duration) -> [TransferAction] {
        // If no run exists, the store saves or places the bytes in another way.
        guard isRunning, run.isMarkDue(at: now) else { return [] }
        return [.markPartial(bytes.intervals, epoch: bytes.epoch)]
    }

    /// Handles that the checkpoint was written, or that writing it has failed; a failure loses bytes only after a
    /// crash.
    mutating func saved() -> [TransferAction] {
        // The run may have ended at the same time.
        if isRunning { run.saved() }
        return []
    }

    /// The properties of an exchange that only the transport knows.
    struct CallbackStatus: Sendable {
        /// The time that the thread of the exchange's callbacks has spent in callbacks, including callbacks of other
        /// exchanges.
        ///
        /// Nothing can be delivered during that time, so it doesn't count as idle time of the server.
        var callbackTime: Duration?
        /// Whether a callback of the exchange is in progress, so that no more bytes can be delivered.
        var isInCallback = false
    }

    /// Handles a periodic check: detects stalled exchanges, and emits progress that was coalesced.
    mutating func tick(
        at now: Duration, _ statuses: [ExchangeID: CallbackStatus] = [:], _ connections: ConnectionBudget? = nil
    ) -> [TransferAction] {
        meter.tick()
        guard isRunning else { return [] }
        run.check(statuses, at: now)
        guard !run.exchanges.isEmpty else { return [] }
        let next = keepTicking(at: now)
        switch run.step {
        case .exchanging: return next + checkRunning(connections, at: now)
        case .draining:
            let unended = policies.idleTimeout.map { run.cancelUnended(after: $0, at: now) } ?? []
            return next + cancelLongRefusal(at: now) + unended
        case .moving, .refreshing, .delaying: preconditionFailure("an exchange in \(phase)")
        }
    }

    private mutating func checkRunning(_ connections: ConnectionBudget?, at now: Duration) -> [TransferAction] {
        var actions = policies.idleTimeout.map { run.abandonCanceled(after: $0, at: now) } ?? []
        guard run.hasRunning else { return actions }
        if meter.shouldEmit(at: now) {
            if run.isMarkDue(at: now) { actions.append(.markPartial(bytes.intervals, epoch: bytes.epoch)) }
            actions.append(.emit(.progress(progress)))
        }
        let replacement = replaceSlowConnection(at: now)
        guard isExchanging else { return actions + replacement }
        actions += replacement + checkExtras(connections, at: now)
        // Extra exchanges without a head may have been canceled.
        if let limit = policies.idleTimeout, run.isIdle(for: limit) {
            actions += drain(.retry(DownloadError(.timedOut, "no byte for \(limit)")), at: now)
        }
        return actions
    }

    /// Replaces a connection that is slower than the minimum rate, if its bytes can be continued (rule 59).
    private mutating func replaceSlowConnection(at now: Duration) -> [TransferAction] {
        guard let minimumRate = settings.minimumRate, bytes.isResumable, !bytes.isComplete,
            let id = run.takeSlowConnection(minimumRate)
        else { return [] }
        return run.othersReceive(besides: id) ? run.cancelExchange(id, at: now) : drain(.advance, at: now)
    }
}
