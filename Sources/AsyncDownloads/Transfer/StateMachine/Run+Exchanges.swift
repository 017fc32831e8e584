/// The exchanges of a run: which exchanges receive, which have stalled, and their cancellation.
extension Run {
    /// Whether an exchange receives bytes to be written.
    var isReceiving: Bool { exchanges.all.contains(where: \.exchange.isReceiving) }

    /// Returns whether another exchange receives.
    func othersReceive(besides id: ExchangeID) -> Bool {
        exchanges.all.contains { $0.id != id && $0.exchange.isReceiving && !$0.exchange.isCanceled }
    }

    /// Whether the first exchange, whose failure counts as a failure of the transfer, no longer receives.
    private var hasOnlyExtras: Bool {
        exchanges.all.allSatisfy { $0.exchange.isExtra || !$0.exchange.isReceiving || $0.exchange.isCanceled }
    }

    /// Returns whether no server has sent a byte for `limit`; false if no server is expected to send anything.
    func isIdle(for limit: Duration) -> Bool {
        let running = exchanges.all.lazy.map(\.exchange).filter { !$0.isHeldBack && !$0.isCanceled }
        return hasRunning && running.allSatisfy { !$0.isWriting && $0.idleTime >= limit }
    }

    /// Whether a server is expected to send bytes.
    var hasRunning: Bool { exchanges.all.contains { !$0.exchange.isHeldBack && !$0.exchange.isCanceled } }

    /// Records the transport's status of each exchange, for a periodic check.
    mutating func check(_ statuses: [ExchangeID: TransferStateMachine.CallbackStatus], at now: Duration) {
        exchanges.updateAll { id, exchange in
            let status = statuses[id] ?? TransferStateMachine.CallbackStatus()
            if status.isInCallback || exchange.isWaitingForConnectivity { exchange.keepAlive(at: now) }
            exchange.check(at: now, callbackTime: status.callbackTime)
        }
    }
}

// MARK: - Cancellation

extension Run {
    /// Cancels one exchange; the preceding exchange receives its bytes if possible.
    mutating func cancelExchange(_ id: ExchangeID, at now: Duration) -> [TransferAction] {
        exchanges.cancel(id, at: now)
        return [.cancelExchange(id)]
    }

    /// Cancels every exchange.
    mutating func cancelExchanges(at now: Duration) -> [TransferAction] {
        exchanges.updateAll { $1.cancel(at: now) }
        return exchanges.all.map { .cancelExchange($0.id) }
    }

    /// Cancels the extra exchanges without a head.
    mutating func cancelUnanswered(at now: Duration) -> [TransferAction] {
        exchanges.requestIDs.flatMap { cancelExchange($0, at: now) }
    }

    /// Cancels the exchanges that are no longer worth a connection.
    ///
    /// - Every extra exchange without a head, when no byte is missing.
    /// - An exchange that has nothing left to write, unless its body ends soon. When no byte is missing, only a body
    ///   that ends with its last written byte may complete.
    /// - The newest exchanges, if there are more than the controller permits.
    mutating func cancelUseless(_ bytes: ReceivedBytes, longestSurplus: Int64, at now: Duration) -> [TransferAction] {
        var actions = bytes.isComplete ? cancelUnanswered(at: now) : []
        let longestSurplus = bytes.isComplete ? 0 : longestSurplus
        for (id, surplus) in exchanges.exhausted(bytes.intervals) where (surplus ?? 0) > longestSurplus {
            actions += cancelExchange(id, at: now)
        }
        let newest = exchanges.segments.map(\.exchange).sorted { $0.rawValue > $1.rawValue }
        for id in newest.prefix(max(0, newest.count - extras.permittedCount)) {
            actions += cancelExchange(id, at: now)
        }
        return actions
    }

    /// Handles the refusal of an extra exchange (rule 58).
    ///
    /// A refusal reduces the number of exchanges. Accepted exchanges, and exchanges that are waiting for their
    /// response, continue.
    mutating func refuseExtra(_ id: ExchangeID, retryAfter: Duration?, at now: Duration) -> [TransferAction] {
        let actions = cancelExchange(id, at: now)
        extras.refused(segmentCount: exchanges.segments.count, retryAfter: retryAfter, at: now)
        extras.judgeRefusals(exchanges, at: now)
        return actions
    }

    /// Abandons canceled exchanges whose end hasn't been reported within `limit`.
    func abandonCanceled(after limit: Duration, at now: Duration) -> [TransferAction] {
        exchanges.all.filter { _, exchange in
            exchange.canceledAt.map { now - $0 >= limit } ?? false && !exchange.isWriting
        }.map { .abandonExchange($0.id) }
    }

    /// Cancels bodies that were allowed to complete but haven't within `limit`, and abandons canceled exchanges.
    mutating func cancelUnended(after limit: Duration, at now: Duration) -> [TransferAction] {
        var actions: [TransferAction] = []
        for (id, exchange) in exchanges.all where now - (exchange.canceledAt ?? exchange.lastActivity) >= limit {
            if exchange.canceledAt == nil {
                exchanges.update(id) { $0.cancel(at: now) }
                actions.append(.cancelExchange(id))
            } else if !exchange.isWriting {
                // URLSession on Linux doesn't end a canceled exchange while the server sends trailers endlessly.
                actions.append(.abandonExchange(id))
            }
        }
        return actions
    }
}

// MARK: - Slow and stalled exchanges

extension Run {
    /// The time for which the last extra exchanges may receive nothing without an idle timeout.
    private static let lastExtraTime = Duration.seconds(30)
    private static let simultaneousTime = Duration.milliseconds(500)

    private func stallTime(_ idleTimeout: Duration?) -> Duration {
        min(ExtraExchanges.stallTime, idleTimeout ?? ExtraExchanges.stallTime)
    }

    /// Records that bytes of a body have arrived.
    mutating func bytesArrived(_ count: Int, of id: ExchangeID, _ idleTimeout: Duration?, at now: Duration) {
        extras.bytesArrived(
            count, of: id, isAlone: exchanges.count == 1, at: now, pause: stallTime(idleTimeout) / 2)
    }

    /// Returns how long any exchange has received without a pause; nil while none does.
    ///
    /// After half of the stall time without a byte, a single silent exchange can't be judged anymore.
    func flowTime(_ idleTimeout: Duration?, at now: Duration) -> Duration? {
        extras.flow.time(at: now, pause: stallTime(idleTimeout) / 2)
    }

    /// Returns whether any exchange receives.
    func isFlowing(_ idleTimeout: Duration?, at now: Duration) -> Bool { flowTime(idleTimeout, at: now) != nil }

    /// Returns whether the missing response to an extra request counts as a refusal, because other exchanges have
    /// received meanwhile, so that the network was available.
    func countsRefusal(_ exchange: ExchangeProgress, _ idleTimeout: Duration?, at now: Duration) -> Bool {
        isFlowing(idleTimeout, at: now) || extras.flow.hasArrived(since: exchange.sentAt)
    }

    /// Cancels exchanges that have stalled, and extra exchanges that have waited too long for their heads.
    mutating func cancelStalled(_ idleTimeout: Duration?, at now: Duration) -> [TransferAction] {
        var actions: [TransferAction] = []
        for (id, exchange) in exchanges.all where !exchange.isCanceled && !exchange.isWriting {
            if exchange.isExtra, !exchange.isReceiving {
                guard hasWaitedLong(exchange, id, idleTimeout, at: now) else { continue }
                let counts = countsRefusal(exchange, idleTimeout, at: now)
                actions += counts ? refuseExtra(id, retryAfter: nil, at: now) : cancelExchange(id, at: now)
            } else if exchange.isReceiving, hasStalled(exchange, id, idleTimeout, at: now) {
                actions += cancelExchange(id, at: now)
            }
        }
        return actions
    }

    /// Returns whether an exchange has received nothing for so long that it should be canceled.
    ///
    /// Other exchanges have to receive in the meantime; otherwise, the network may be the cause. The last remaining
    /// extra exchanges get more time, unless others have received since their last bytes.
    private func hasStalled(
        _ exchange: ExchangeProgress, _ id: ExchangeID, _ idleTimeout: Duration?, at now: Duration
    ) -> Bool {
        let stallTime = stallTime(idleTimeout)
        guard exchange.idleTime >= stallTime else { return false }
        let isLast = !othersReceive(besides: id)
        if !isLast, let flowTime = flowTime(idleTimeout, at: now) { return flowTime >= stallTime }
        guard hasOnlyExtras else { return false }
        // When the network is lost, the last bytes of several exchanges arrive at nearly the same time.
        let difference = isLast ? Duration.zero : Self.simultaneousTime
        let hasFlowed = extras.flow.hasArrived(since: exchange.lastActivity + difference)
        return hasFlowed || exchange.idleTime >= idleTimeout ?? Self.lastExtraTime
    }

    /// Returns whether an extra exchange has waited too long for its head.
    ///
    /// While the other exchanges don't receive either, the server may not be the cause.
    private func hasWaitedLong(
        _ exchange: ExchangeProgress, _ id: ExchangeID, _ idleTimeout: Duration?, at now: Duration
    ) -> Bool {
        let time = now - exchange.lastActivity
        let patience = extras.patience(exchanges)
        if othersReceive(besides: id) { return min(time, flowTime(idleTimeout, at: now) ?? .zero) >= patience }
        return time >= min(patience, idleTimeout ?? patience)
    }
}
