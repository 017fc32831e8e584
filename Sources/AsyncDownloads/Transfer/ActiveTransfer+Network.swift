/// The network path, and the subscribers that don't wait for a network.
extension ActiveTransfer {
    /// Handles that the network path has changed.
    func networkChanged() {
        let now = now
        update { state, decision in
            // The path is read under the lock, so that the latest path applies even if reports arrive out of order.
            state.machine.setPath(environment.network.path)
            decision.actions += state.machine.networkChanged(at: now)
        }
    }

    /// Handles that the transfer has begun to wait.
    func networkAwaited(_ reason: WaitingReason, _ state: inout State, _ decision: inout Decision) {
        guard let hindrance = state.machine.awaitedNetwork, reason == hindrance.waitingReason else { return }
        endUnlessWaiting(&state, &decision)
        // The path may have changed before this transfer was registered and could be notified.
        decision.effects.append(DeferredEffect { [self] in networkChanged() })
    }

    /// Ends the running subscribers that don't wait for a network, if the transfer is waiting for one.
    ///
    /// The bytes are kept. If no other subscriber is left, the transfer ends.
    func endUnlessWaiting(_ state: inout State, _ decision: inout Decision) {
        guard let hindrance = state.machine.awaitedNetwork else { return }
        for (id, subscriber) in Array(state.subscribers.active)
        where !subscriber.isPaused && subscriber.policies.networkAccess.whenUnavailable == .fail {
            detach(id, .failure(hindrance.error), policy: .pause, &state, &decision, at: now)
        }
    }
}
