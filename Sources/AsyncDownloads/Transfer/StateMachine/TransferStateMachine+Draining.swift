extension TransferStateMachine {
    /// Waits for the ends of all exchanges before the next step.
    ///
    /// - Parameter canceling: Whether the exchanges are canceled; short bodies may complete instead.
    mutating func drain(
        _ followUp: Run.DrainFollowUp, canceling: Bool = true, at now: Duration
    ) -> [TransferAction] {
        let running = run.exchanges.all
        // A body that is held back must flow again; otherwise, its end would never arrive.
        let gates = running.filter(\.exchange.isHeldBack).map { TransferAction.openGate(exchange: $0.id) }
        if case .retry = followUp { strategy.interrupted() }
        if running.contains(where: \.exchange.isReceiving) { strategy.interrupted() }
        run.step = .draining(followUp)
        run.exchanges.removeSegments()
        run.exchanges.removeEnded()
        if run.exchanges.isEmpty { return gates + proceed(followUp, at: now) }
        return (canceling ? run.cancelExchanges(at: now) : []) + gates
    }

    /// Continues after all exchanges have ended, unless the subscribers' intent has changed.
    mutating func proceed(_ followUp: Run.DrainFollowUp, at now: Duration) -> [TransferAction] {
        if case .fail(let error) = followUp { return fail(error, at: now) }
        guard intent == .run else { return applyIntent(at: now) }
        switch followUp {
        case .advance: return advance(at: now)
        case .refresh(let status): return refresh(.status(status.code), at: now)
        case .retry(let error): return retry(error, at: now)
        case .awaitOrigin(let error, let number, let delay):
            return awaitOrigin(error, number: number, delay: delay, at: now)
        case .relocate: return close(.keeping, at: now)
        case .reuse:
            guard let existing = run.existing else { preconditionFailure("files confirmed that were not asked about") }
            return close(
                .reusing(.init(validator: existing.validator, suggestedName: existing.representation.suggestedName)),
                at: now)
        case .fail: preconditionFailure("a failure is handled above")
        }
    }
}
