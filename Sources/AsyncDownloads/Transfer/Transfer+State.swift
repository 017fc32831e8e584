extension Transfer.State {
    /// Returns the effects that notify observers of a changed state.
    mutating func notifyObservers() -> [DeferredEffect] {
        let changed = subscribers.takeChanged()
        guard subscribers.hasObservers else { return [] }
        // Most inputs change no state, and most of the others change that of a single subscriber.
        let isAnyone = machine.phase != lastObservedPhase
        lastObservedPhase = machine.phase
        let numbers = isAnyone ? subscribers.active.map(\.id) + changed : changed
        return numbers.flatMap { id in
            let (state, progress) = (publicState(of: id), machine.progress)
            return subscribers.update(id) { $0.show(state, progress) } ?? []
        }
    }

    /// Returns the state as one subscriber sees it.
    func publicState(of id: SubscriberID) -> DownloadState {
        guard let subscriber = subscribers.all[id] else { return .failed }
        switch subscriber.outcome {
        case .success: return .completed
        case .failure(let error): return error.code == .cancelled ? .cancelled : .failed
        case nil: break
        }
        if machine.phase == .finishing { return .verifying }
        if subscriber.isPaused { return .paused }
        switch machine.phase {
        case .ready: return .ready
        case .waiting: return .waiting
        case .backingOff, .closingToRetry: return .retrying
        case .opening, .connecting, .preparing, .receiving, .draining, .refreshing, .pacing, .closing:
            return .downloading
        case .paused: return .paused
        case .finishing, .ended: return .verifying
        }
    }
}
