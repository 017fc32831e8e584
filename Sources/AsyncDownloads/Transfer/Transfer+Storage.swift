internal import Dispatch
internal import Foundation

/// The store's operations for a transfer, which run in order on the transfer's own queue.
extension Transfer {
    /// - Parameter saves: Whether `body` saves the bytes.
    func onPartial(saves: Bool = false, _ body: @escaping @Sendable (any Partial) -> Void) {
        work.queue.async { [self] in
            guard let partial = withState({ $0.partial }) else { return }
            if saves || mayWait(for: partial) {
                waitForDisk { body(partial) }
            } else {
                body(partial)
            }
        }
    }

    /// Whether an operation on the partial may wait for its disk for a long time.
    func mayWait(for partial: any Partial) -> Bool {
        partial.waitsForDisk || environment.slowDisks.contains(partial.volume, at: now)
    }

    /// Performs the rest of the present operation of the queue on a separate thread.
    ///
    /// The transfers share few threads, of which a sync would take one from the others for a long time.
    func waitForDisk(_ body: @escaping @Sendable () -> Void) {
        let queue = work.queue
        queue.suspend()
        DispatchQueue.runBlocking {
            body()
            queue.resume()
        }
    }

    /// Opens the partial whose bytes belong to these secret headers.
    func openPartial(_ credentials: HeaderFields) {
        let work = work
        work.queue.async { [self] in
            if let error = refuseDestinations() {
                return input { $0.opened(.failure(error), at: now) }
            }
            var location = work.location
            location.secretHeaders = credentials
            location.medium = withState { $0.subscribers.wantsFile } ? .disk : .memory
            switch Result(catching: { () throws(DownloadError) in try environment.store.openNew(location) }) {
            case .success(let partial?): opened(.success(partial))
            case .failure(let error): opened(.failure(error))
            case .success(nil):
                waitForDisk { [self, location] in
                    opened(Result { () throws(DownloadError) in try environment.store.open(location) })
                }
            }
        }
    }

    private func opened(_ result: Result<any Partial, DownloadError>) {
        let isDigestDue = update { state, decision in
            state.partial = try? result.get()
            state.digests = TransferDigests()
            // A subscriber that attached in the meantime and wants a file found no partial file to move.
            moveToDiskIfWanted(&state, &decision)
            state.machine.allowsGaps = state.partial?.allowsGaps ?? true
            decision.actions += state.machine.opened(result.map(\.finding), at: now)
            return state.beginDigesting()
        }
        if isDigestDue { digestOnQueue() }
    }

    /// Gives the partial the secret headers that are sent when its turn comes.
    func useCredentials() {
        onPartial { [self] partial in partial.useCredentials(withState { $0.machine.credentials }) }
    }

    /// Ends the subscribers whose destinations cannot receive a file, before bytes are fetched for them.
    ///
    /// A transfer that continues without subscribers is abandoned if the file cannot be placed for the last one.
    ///
    /// - Returns: An error if no one is left for whom bytes would be fetched.
    func refuseDestinations() -> DownloadError? {
        let destinations = withState { state in
            state.machine.intent == .run
                ? state.subscribers.active.map { id, subscriber in
                    (id, subscriber.reservedPath ?? subscriber.request.destination.path)
                } : []
        }
        if destinations.isEmpty { return refuseKeptDestination() }
        var last: DownloadError?
        for case (let id, let path?) in destinations {
            guard let error = environment.store.refusal(of: path) else { continue }
            last = error
            // This isn't a cancellation: regardless of the abandonment policy, the bytes of earlier runs are kept.
            update { state, decision in detach(id, error, policy: .pause, &state, &decision, at: now) }
        }
        guard let last else { return nil }
        return withState { $0.machine.intent == .abandon } ? last : nil
    }

    /// Abandons a transfer without subscribers if the file cannot be placed.
    private func refuseKeptDestination() -> DownloadError? {
        let path = withState { state in
            state.subscribers.isEmpty && state.machine.intent == .run
                ? state.subscribers.lastDetached?.request.destination.path : nil
        }
        guard let path, let error = environment.store.refusal(of: path) else { return nil }
        update { state, decision in
            // A subscriber may have attached meanwhile.
            if state.subscribers.isEmpty { decision.actions += state.machine.stop(.abandon, at: now) }
        }
        return withState { $0.machine.intent == .abandon } ? error : nil
    }

    /// Moves the bytes to disk if they are in memory and a subscriber wants a file.
    ///
    /// The size of a body in memory is limited by what its subscribers accept; that of a file is not. A move includes a
    /// sync, so it is performed on the transfer's queue, and so are the writes that arrive in the meantime.
    func moveToDiskIfWanted(_ state: inout State, _ decision: inout Decision) {
        guard state.subscribers.wantsFile, !state.isMovingToDisk, state.partial?.isInMemory == true,
            state.machine.phase != .finishing
        else { return }
        state.isMovingToDisk = true
        decision.effects.append(
            DeferredEffect { [self] in
                work.queue.async { [self] in waitForDisk { [self] in moveToDisk() } }
            })
    }

    private func moveToDisk() {
        let partial = withState { $0.partial }
        do throws(DownloadError) {
            try partial?.moveToDisk()
        } catch {
            // The next write reports the error.
            environment.log.notice("a body stays in memory: \(error)")
        }
        let allowsGaps = partial?.allowsGaps ?? true
        update { state, _ in
            state.isMovingToDisk = false
            state.machine.allowsGaps = allowsGaps
        }
    }

    func markPartial(_ received: IntervalSet, epoch: Int) {
        onPartial { partial in partial.mark(received, epoch: epoch) }
    }

    func startPartial(_ representation: Representation, exchange id: ExchangeID) {
        updateQuietly { $0.queuedPreparationCount += 1 }
        onPartial { [self] partial in
            guard refuseDestinations() == nil else {
                return update { state, _ in
                    state.queuedPreparationCount -= 1
                    state.machine.startRefused()
                }
            }
            let result = Result { () throws(DownloadError) in try partial.begin(representation) }
            let allowsGaps = partial.allowsGaps
            update { state, decision in
                state.queuedPreparationCount -= 1
                state.digests = TransferDigests()
                state.machine.allowsGaps = allowsGaps
                decision.actions += state.machine.partialStarted(result, exchange: id, at: now)
            }
        }
    }

    func savePartial(_ received: IntervalSet) {
        onPartial(saves: true) { [self] partial in
            do throws(DownloadError) {
                try partial.save(received)
            } catch {
                environment.log.notice("no checkpoint: \(error)")
            }
            input { $0.saved() }
        }
    }

    func closePartial(saving received: IntervalSet?) {
        onPartial(saves: received?.isEmpty == false) { [self] partial in
            if let received, !received.isEmpty {
                // A mark needs neither a descriptor nor free space, in case the checkpoint fails for lack of one.
                partial.mark(received)
                do throws(DownloadError) {
                    try partial.save(received)
                } catch {
                    environment.log.notice("no checkpoint: \(error)")
                }
            }
            closed(keeping: partial.close())
        }
    }

    func discardPartial() {
        onPartial { [self] partial in
            partial.discard()
            closed()
        }
    }

    private func closed(keeping kept: IntervalSet? = nil) {
        environment.pressureResponder.start()
        update { state, decision in
            state.partial = nil
            decision.actions += state.machine.closed(keeping: kept, at: now)
        }
    }

    /// Keeps the file from which bytes were imported until a server has confirmed them.
    func awaitConfirmation(of file: ImportedFile) {
        updateQuietly { state in
            state.importedFile = file
            state.machine.awaitImportConfirmation()
        }
    }

    func removeImportedFile() {
        guard let file = update({ state, _ in state.importedFile.take() }) else { return }
        work.queue.async { [self] in environment.store.removeImported(file) }
    }
}

/// The recording and the rollback of unverified bytes.
extension Transfer {
    func recordPartial(_ received: IntervalSet, exchange id: ExchangeID) {
        updateQuietly { $0.queuedPreparationCount += 1 }
        onPartial(saves: true) { [self] partial in
            let result = Result { () throws(DownloadError) in try partial.save(received) }
            update { state, decision in
                state.queuedPreparationCount -= 1
                decision.actions += state.machine.prepared(result, exchange: id, at: now)
            }
        }
    }

    func rollBackPartial(to received: IntervalSet, epoch: Int) {
        let rollBack = { @Sendable [self] (partial: any Partial) in
            // Bytes cannot be removed from a digest.
            update { state, _ in state.digests = TransferDigests() }
            do throws(DownloadError) {
                try partial.rollBack(to: received, epoch: epoch)
            } catch {
                environment.log.notice("the checkpoint still claims bytes that were rolled back: \(error)")
            }
        }
        // A body in memory has no epochs: it must not receive bytes of a later response before. While it moves to disk,
        // no thread but the queue writes.
        if let partial = withState({ $0.isMovingToDisk ? nil : $0.partial }), partial.isInMemory {
            rollBack(partial)
            // A turn on the queue may be computing digests of the bytes.
            onPartial { [self] _ in update { state, _ in state.digests = TransferDigests() } }
        } else {
            onPartial(rollBack)
        }
    }
}
