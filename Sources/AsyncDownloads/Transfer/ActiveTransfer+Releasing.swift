/// The handles of subscribers, and the release of memory while a transfer is paused.
extension ActiveTransfer {
    /// Adds a handle to each subscriber without an outcome whose request is accepted by `isIncluded`.
    func addHandles(where isIncluded: (DownloadID, DownloadRequest) -> Bool) -> [AddedHandle] {
        updateQuietly { $0.subscribers.addHandles(where: isIncluded) }
    }

    /// Records that a handle of the subscriber was released.
    func handleReleased(_ id: SubscriberID) {
        update { state, _ in _ = state.subscribers.update(id) { $0.handleCount -= 1 } }
    }

    /// Informs the subscribers of a paused transfer that its bytes are no longer in memory.
    func emitReleased(_ release: PartialBodyStore.Release) {
        update { state, decision in
            let event = DownloadEvent.released(byteCount: Int64(release.byteCount), isOnDisk: release.isOnDisk)
            decision.effects += state.subscribers.emit(event)
        }
    }

    /// Ends a paused transfer that nothing can resume.
    ///
    /// - Parameter discarding: Whether to delete the transfer's bytes on disk, even if the transfer can be resumed.
    ///
    /// - Returns: Whether the transfer has ended.
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
