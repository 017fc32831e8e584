/// The deadlines of subscribers. A deadline ends only its own subscriber.
extension ActiveTransfer {
    /// Schedules the timer of a subscriber's deadline; does nothing while the deadline is paused.
    func watchDeadline(of id: SubscriberID) {
        guard let left = withState({ $0.subscribers.timeLeft(of: id, at: now) }) else { return }
        let timer = environment.time.schedule(after: max(.zero, left)) { [self] in deadlineReached(of: id) }
        let unneeded = update { state, _ -> (any ScheduledAction)? in
            // The subscriber was paused or ended in the meantime.
            guard state.subscribers.timeLeft(of: id, at: now) != nil else { return timer }
            return state.subscribers.update(id) { subscriber in
                defer { subscriber.deadlineTimer = timer }
                return subscriber.deadlineTimer
            } ?? timer
        }
        unneeded?.cancel()
    }

    private func deadlineReached(of id: SubscriberID) {
        let now = now
        update { state, decision in
            guard let left = state.subscribers.timeLeft(of: id, at: now),
                let clock = state.subscribers[id]?.deadline
            else { return }
            guard left <= .zero else {
                // The timer was scheduled before a pause.
                return decision.effects.append(DeferredEffect { [self] in watchDeadline(of: id) })
            }
            // All bytes have been received. The subscriber's file is being placed, or is in place, unless its closure still
            // runs.
            guard state.machine.phase != .finishing || state.acceptance.isPending(id) else { return }
            endAtDeadline(id, clock, state.lastFailure, &state, &decision, at: now)
        }
    }

    /// Ends the subscribers whose deadlines pass before the next attempt would start (rule 37).
    func detachLate(
        after delay: Duration, _ error: DownloadError, _ state: inout State, _ decision: inout Decision
    ) {
        let now = now
        for (id, clock) in state.subscribers.late(after: delay, at: now) {
            endAtDeadline(id, clock, error, &state, &decision, at: now)
        }
    }

    /// Ends a subscriber whose deadline has passed.
    ///
    /// Unlike a canceled subscriber, it doesn't want any work to continue after its end, so the abandonment policy
    /// doesn't apply.
    ///
    /// - Parameter cause: The failure of the last attempt, if no response was accepted since.
    private func endAtDeadline(
        _ id: SubscriberID, _ clock: DeadlineClock, _ cause: DownloadError?, _ state: inout State,
        _ decision: inout Decision, at now: Duration
    ) {
        var error = clock.error
        error.underlyingError = cause
        detach(id, .failure(error), policy: .pause, &state, &decision, at: now)
    }
}
