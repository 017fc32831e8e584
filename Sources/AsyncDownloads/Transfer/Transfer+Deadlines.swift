/// The time that each subscriber gives its download. A deadline ends its own subscriber and no other.
extension Transfer {
    /// Sets the timer of a subscriber's deadline; does nothing where time does not count.
    func watchDeadline(of id: SubscriberID) {
        guard let left = withState({ $0.subscribers.timeLeft(of: id, at: now) }) else { return }
        let timer = environment.time.schedule(after: max(.zero, left)) { [self] in deadlineReached(of: id) }
        let unneeded = update { state, _ -> (any ScheduledAction)? in
            // A pause or the end came meanwhile.
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
                let clock = state.subscribers.all[id]?.deadline
            else { return }
            guard left <= .zero else {
                // A timer that was set before a pause.
                return decision.effects.append(DeferredEffect { [self] in watchDeadline(of: id) })
            }
            // Every byte is there, and only verified and put in place.
            guard state.machine.phase != .finishing else { return }
            outOfTime(id, clock.error, &state, &decision, at: now)
        }
    }

    /// Ends the subscribers whose time is up before the next attempt would begin (rule 37).
    func leaveLate(_ state: inout State, _ decision: inout Decision) {
        for case .emit(.retrying(_, let delay, let error)) in decision.actions {
            let now = now
            for (id, clock) in state.subscribers.late(after: delay, at: now) {
                var late = clock.error
                late.underlyingError = error
                outOfTime(id, late, &state, &decision, at: now)
            }
        }
    }

    /// Unlike a subscriber that leaves of its own accord, one whose time is up wants no work to be done without it.
    private func outOfTime(
        _ id: SubscriberID, _ error: DownloadError, _ state: inout State, _ decision: inout Decision, at now: Duration
    ) {
        leave(id, error, policy: .pause, &state, &decision, at: now)
    }
}
