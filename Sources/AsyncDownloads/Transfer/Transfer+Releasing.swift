/// What leaves memory while nobody needs it.
extension Transfer {
    /// The subscriber's handle is gone, so nobody can resume for it any more.
    func handleReleased(_ id: SubscriberID) {
        update { state, _ in _ = state.subscribers.update(id) { $0.isHeld = false } }
    }

    /// Tells the callers of a paused transfer that its bytes are not in memory any more.
    func emitReleased(_ release: PartialBodyStore.Release) {
        update { state, decision in
            let event = DownloadEvent.released(byteCount: Int64(release.byteCount), isOnDisk: release.isOnDisk)
            decision.effects += state.subscribers.emit(event)
        }
    }

    /// Ends a paused transfer that nobody can resume, and deletes what a paused one has on disk where that is asked for.
    ///
    /// - Returns: Whether it has ended.
    func releaseIfPaused(discarding: Bool) -> Bool {
        let now = environment.time.now
        return update { state, decision in
            guard state.machine.phase == .paused else { return false }
            let isOver = !state.subscribers.active.contains { $0.subscriber.isHeld || $0.subscriber.hasConsumers }
            if isOver {
                decision.actions += state.machine.stop(discarding ? .discard : .abandon, at: now)
            } else if discarding {
                decision.actions += state.machine.purge(at: now)
            }
            return isOver
        }
    }
}
