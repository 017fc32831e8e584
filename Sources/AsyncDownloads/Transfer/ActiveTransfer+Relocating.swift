/// The location of the bytes: in memory, or at the location of a subscriber that wants a file.
extension ActiveTransfer {
    /// Returns the location of a file that a subscriber wants; nil if no subscriber wants one.
    func fileLocation(_ state: State) -> PartialLocation? {
        let requests = state.subscribers.active.map(\.subscriber.request)
        let last = state.subscribers.lastDetached.map { [$0.request] } ?? []
        let request = (requests.isEmpty ? last : requests).first { $0.destination != .memory }
        return request.map { environment.location(of: $0, TransferKey($0)) }
    }

    /// Continues at the location of another subscriber after a failure of the disk.
    ///
    /// The subscribers whose file was to be at the present location end with the error.
    ///
    /// - Returns: Whether another location exists.
    func relocate(after error: DownloadError, _ state: inout State, _ decision: inout Decision) -> Bool {
        guard error.isOfLocation, state.machine.intent == .run else { return false }
        let directory = ByteText(state.storage.location.directory)
        // A late failure of a former location says nothing about the present one.
        if let partial = state.storage.partial, ByteText(partial.location.directory) != directory { return false }
        let next = state.subscribers.active.lazy.map { self.location(of: $0.subscriber) }
            .first { ByteText($0.directory) != directory }
        guard let next else { return false }
        detach(from: directory, error, &state, &decision)
        state.storage.relocate(to: next)
        return true
    }

    private func location(of subscriber: Subscriber) -> PartialLocation {
        environment.location(of: subscriber.request, TransferKey(subscriber.request))
    }

    /// Ends the subscribers whose files would be in a directory that has failed.
    private func detach(
        from directory: ByteText, _ error: DownloadError, _ state: inout State, _ decision: inout Decision
    ) {
        for (id, subscriber) in state.subscribers.active
        where subscriber.request.destination != .memory && ByteText(location(of: subscriber).directory) == directory {
            // This isn't a cancellation: the bytes are kept.
            detach(id, .failure(error), policy: .pause, &state, &decision, at: now)
        }
    }

    /// Moves the bytes to disk if they are in memory and a subscriber wants a file.
    ///
    /// The size of a body in memory is limited by the subscribers, but the size of a file is not. A move includes a
    /// sync, so it is performed on the transfer's queue, and so are the writes that arrive in the meantime.
    func moveToDiskIfWanted(_ state: inout State, _ decision: inout Decision) {
        guard state.machine.phase != .finishing, fileLocation(state) != nil, state.storage.beginMove() else { return }
        decision.effects.append(
            DeferredEffect { [self] in
                queue.async { [self] in moveToDisk() }
            })
    }

    private func moveToDisk() {
        let (partial, location) = withState { state in
            (state.storage.partial, fileLocation(state)?.withURLAndChecksum(of: state.storage.location))
        }
        guard let partial, var location else { return updateQuietly { $0.storage.endMove(at: nil) } }
        location.secretHeaders = partial.location.secretHeaders
        let result = Result { () throws(DownloadError) in try partial.move(to: location) }
        let allowsGaps = partial.allowsGaps
        update { state, decision in
            state.machine.setAllowsGaps(allowsGaps)
            switch result {
            case .success(true): state.storage.endMove(at: location)
            case .failure(let error) where error.isOfLocation:
                state.storage.endMove(at: nil)
                decision.effects.append(
                    DeferredEffect { [environment] in environment.log.notice("a body stays in memory", error) })
                detach(from: ByteText(location.directory), error, &state, &decision)
                moveToDiskIfWanted(&state, &decision)
            case .success(false), .failure:
                // The location has more bytes, or another owner: opening it continues from those bytes, or waits.
                state.storage.endMove(at: location)
                decision.actions += state.machine.relocate(at: now)
            }
        }
    }
}

extension DownloadError {
    /// Whether the error means that no file can be written at a location.
    fileprivate var isOfLocation: Bool {
        [.diskFull, .destinationUnusable, .permissionDenied, .storageFailure].contains(code)
    }
}
