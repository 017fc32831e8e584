/// Periodic checks of running exchanges, checkpoints, and marks.
extension TransferStateMachine {
    /// Handles that a mark is due; see ``MarkSchedule``.
    mutating func markDue(at now: Duration) -> [TransferAction] {
        guard marks.isDue(at: now), isPartialOpen else { return [] }
        switch state {
        // The store saves or places the bytes by itself.
        case .closing, .finishing, .ended: return []
        default: return [.markPartial(bytes.intervals, epoch: bytes.epoch)]
        }
    }

    /// Handles that a checkpoint is written, or could not be: a failure loses bytes only after a crash.
    mutating func saved() -> [TransferAction] {
        checkpoints.saved()
        return []
    }

    /// The properties of an exchange that only the transport knows.
    struct CallbackStatus: Sendable {
        /// How long the thread that delivers the exchange's callbacks has spent in callbacks, including those of other
        /// exchanges.
        ///
        /// Nothing can be delivered meanwhile, so the time isn't the server's.
        var callbackTime: Duration?
        /// Whether a callback of the exchange is in progress, so that it can deliver nothing more.
        var isInCallback = false
    }

    /// Handles a periodic check: detects stalled exchanges, and emits progress that was coalesced.
    mutating func tick(
        at now: Duration, _ statuses: [ExchangeID: CallbackStatus] = [:], _ connections: ConnectionBudget? = nil
    ) -> [TransferAction] {
        isTicking = false
        exchanges.updateAll { id, exchange in
            let status = statuses[id] ?? CallbackStatus()
            if status.isInCallback || exchange.isWaitingForConnectivity { exchange.keepAlive(at: now) }
            exchange.check(at: now, callbackTime: status.callbackTime)
        }
        guard !exchanges.isEmpty else { return [] }
        let next = keepTicking(at: now)
        switch state {
        case .exchanging: return next + checkRunning(connections, at: now)
        case .draining: return next + checkDraining(at: now)
        default: return next
        }
    }

    private mutating func checkRunning(_ connections: ConnectionBudget?, at now: Duration) -> [TransferAction] {
        var actions = abandonCanceled(at: now)
        guard !running.isEmpty else { return actions }
        if meter.shouldEmit(at: now) {
            if marks.isDue(at: now) { actions.append(.markPartial(bytes.intervals, epoch: bytes.epoch)) }
            actions.append(.emit(.progress(progress)))
        }
        let replacement = replaceSlowConnection(at: now)
        guard case .exchanging = state else { return actions + replacement }
        actions += replacement + checkExtras(connections, at: now)
        // Extra exchanges without a head may have been given up.
        let running = running
        if !running.isEmpty, let limit = demands.idleTimeout,
            running.allSatisfy({ !$0.isWriting && $0.idleTime >= limit })
        {
            actions += drain(.retry(DownloadError(.timedOut, "no byte for \(limit)")), at: now)
        }
        return actions
    }

    /// Replaces a connection that is slower than the minimum rate, if its bytes can be continued (rule 59).
    private mutating func replaceSlowConnection(at now: Duration) -> [TransferAction] {
        guard let minimumRate = settings.minimumRate, bytes.isResumable, !bytes.isComplete else { return [] }
        for (id, exchange) in exchanges.all where exchange.isReceiving && !exchange.isCanceled && !exchange.isWriting {
            guard let rate = exchange.rate.highest(of: slowness.windowCount), rate < Double(minimumRate) else {
                continue
            }
            slowness.replaced(rate)
            return othersReceive(besides: id) ? cancelExchange(id, at: now) : drain(.advance, at: now)
        }
        return []
    }

    /// The exchanges whose server has something to send.
    private var running: [ExchangeProgress] {
        exchanges.all.map(\.exchange).filter { !$0.isHeldBack && !$0.isCanceled }
    }

    private mutating func checkDraining(at now: Duration) -> [TransferAction] {
        guard let limit = demands.idleTimeout else { return [] }
        var actions: [TransferAction] = []
        for (id, exchange) in exchanges.all where now - (exchange.canceledAt ?? exchange.lastActivity) >= limit {
            if exchange.canceledAt == nil {
                // A body that was left to complete doesn't.
                exchanges.update(id) { $0.cancel(at: now) }
                actions.append(.cancelExchange(id))
            } else if !exchange.isWriting {
                // URLSession on Linux ends nothing while a server sends trailers without end.
                actions.append(.abandonExchange(id))
            }
        }
        return actions
    }

    mutating func keepTicking(at now: Duration) -> [TransferAction] {
        guard !isTicking else { return [] }
        isTicking = true
        let interval = demands.tickInterval
        return [.scheduleTick(extras.tickInterval(exchanges, at: now).map { min(interval, $0) } ?? interval)]
    }
}
