internal import Foundation

/// The store's operations for a transfer, which run in order on the transfer's queue.
extension ActiveTransfer {
    func onPartial(_ body: @escaping @Sendable (PartialFile) -> Void) {
        queue.async { [self] in
            if let partial = withState({ $0.storage.partial }) { body(partial) }
        }
    }

    /// Performs an operation that may write a checkpoint.
    private func onPartialToRecord(_ body: @escaping @Sendable (PartialFile) -> Void) {
        onPartial { [self] partial in
            let all = withState { $0.subscribers.recorded }
            // A later process can't deliver a body to a subscriber that wanted it in memory, so files take precedence.
            let files = all.filter { $0.request.destination != .memory }
            let downloads = files.isEmpty ? all : files
            partial.setSubscribers(
                downloads.map { download in
                    RecordedSubscriber(
                        download.id, download.request, in: partial.location.directory, environment.containers)
                })
            body(partial)
        }
    }

    /// The location of the partial file.
    var location: PartialLocation { withState(\.storage.location) }

    /// The location of the partial file, with the secret headers to which its bytes belong.
    var locationOfBytes: PartialLocation {
        withState { state in
            var location = state.storage.location
            location.secretHeaders = state.machine.bytes.credentials
            return location
        }
    }

    /// Returns whether the transfer may have opened the partial file at `other`.
    func hasPartialFile(at other: PartialLocation) -> Bool {
        environment.store.names(of: location) == environment.store.names(of: other)
    }

    /// Opens the partial file whose bytes belong to these secret headers.
    func openPartial(_ credentials: HeaderFields) {
        queue.async { [self] in
            if let error = refuseDestinations(suggestedName: nil) {
                if !endOpening(error) { openPartial(credentials) }
                return
            }
            if mayServeWithoutRequest, withState({ $0.machine.mayReuse() }), reuseWithoutRequest(credentials) { return }
            recordFormerFiles()
            let (location, former, isDiscarded) = update { state, _ -> (PartialLocation, PartialLocation?, Bool) in
                let isDiscarded = state.machine.opensToDiscard
                if !isDiscarded { locateBytes(&state) }
                var location = state.storage.location
                location.secretHeaders = credentials
                location.medium = location.isSpilled && !state.subscribers.wantsFile ? .memory : .disk
                return (location, state.storage.formerLocation, isDiscarded)
            }
            let (store, start) = (environment.store, now)
            let result = Result { () throws(DownloadError) -> PartialFile in
                if isDiscarded { return try store.openToDiscard(location, and: former) }
                if former == nil, let new = try store.openNew(location) { return try withSpace(new) }
                return try withSpace(try store.open(location, continuing: former))
            }
            let partial = try? result.get()
            // Bytes that weren't moved, or that this transfer can't use, remain available for a later request.
            let left = partial != nil ? [former] : isDiscarded ? [] : [former, location]
            environment.keptLocations.insert(left.compactMap(\.self).first(where: store.holds))
            // Recorded before the engine's thread begins a representation on this volume.
            if let volume = partial?.volume { environment.slowDisks.record(volume, from: start, to: now) }
            // Checked again, because another process may have placed the file before it released the partial file (rule
            // 63).
            if let partial, !isDiscarded, mayServeWithoutRequest,
                let files = allFilesWithoutRequest()
            {
                partial.close()
                // A subscriber may have attached in the meantime.
                if !serve(files) { openPartial(credentials) }
                return
            }
            opened(result, existing: isDiscarded || !mayAskAboutFiles ? nil : existingRepresentation())
        }
    }

    /// Ends the opening because no destination can receive a file; returns false if a subscriber has attached in the
    /// meantime, whose destination isn't the cause of the error.
    private func endOpening(_ error: DownloadError) -> Bool {
        update { state, decision in
            guard state.machine.intent != .run else { return false }
            decision.actions += state.machine.opened(.failure(error), at: now)
            return true
        }
    }

    /// Returns the partial file if its volume has enough space for the expected file (rule 44), and closes it
    /// otherwise.
    private func withSpace(_ partial: PartialFile) throws(DownloadError) -> PartialFile {
        guard let expected = withState({ $0.machine.policies.expectedByteCount }), !partial.isInMemory else {
            return partial
        }
        var missing = expected
        if case .bytes(_, let received) = partial.finding { missing -= received.count }
        guard let available = try? environment.store.disk.availableSpace(in: partial.location.directory),
            available < missing
        else { return partial }
        partial.close()
        throw DownloadError(.diskFull, "\(missing) bytes are needed, and \(available) are available")
    }

    /// Determines the location of the bytes when the partial file is opened.
    func locateBytes(_ state: inout State) {
        // The bytes of a file are stored at the location of a subscriber that wants a file.
        if state.storage.location.medium == .memory, let file = fileLocation(state) { state.storage.locate(at: file) }
        guard state.storage.formerLocation == nil,
            let kept = environment.keptLocations.take(state.storage.location)
        else { return }
        state.storage.locate(continuing: kept)
    }

    private func opened(_ result: Result<PartialFile, DownloadError>, existing: ExistingRepresentation?) {
        let isDigestDue = update { state, decision in
            state.storage.opened(try? result.get())
            // A subscriber that wants a file may have attached in the meantime, when no partial file was open to be
            // moved.
            if state.storage.isInMemory, !state.machine.opensToDiscard { moveToDiskIfWanted(&state, &decision) }
            let relocates = result.failure.map { relocate(after: $0, &state, &decision) } ?? false
            decision.actions += state.machine.opened(
                result.map(\.finding), allowsGaps: state.storage.partial?.allowsGaps ?? true, relocates: relocates,
                existing: existing, at: now)
            return state.beginDigesting()
        }
        if isDigestDue { digestOnQueue() }
    }

    /// Passes the present secret headers to the partial file, in the order of the queue.
    func useCredentials() {
        onPartial { [self] partial in partial.useCredentials(withState { $0.machine.credentials }) }
    }

    /// Ends the subscribers whose destinations can't receive a file, before bytes are fetched for them.
    ///
    /// A transfer that continues without subscribers is abandoned if the file can't be placed for the last one.
    ///
    /// - Parameter suggestedName: The name that the server has suggested, if it has responded.
    /// - Returns: An error if no subscriber is left for which bytes would be fetched.
    func refuseDestinations(suggestedName: String?) -> DownloadError? {
        let subscribers = withState { state in
            state.machine.intent == .run ? Array(state.subscribers.active) : []
        }
        if subscribers.isEmpty { return refuseKeptDestination() }
        var last: DownloadError?
        for (id, subscriber) in subscribers {
            let path = subscriber.reservedPath ?? subscriber.request.destination.path
            guard
                let error = path.flatMap(environment.store.refusal)
                    ?? existingFileRefusal(subscriber.request, suggestedName)
            else { continue }
            last = error
            // This isn't a cancellation: regardless of the abandonment policy, the bytes of earlier runs are kept.
            update { state, decision in detach(id, .failure(error), policy: .pause, &state, &decision, at: now) }
        }
        guard let last else { return nil }
        return withState { $0.machine.intent == .abandon } ? last : nil
    }

    /// Abandons a transfer without subscribers if its file can't be placed.
    private func refuseKeptDestination() -> DownloadError? {
        let path = withState { state in
            state.subscribers.isEmpty && state.machine.intent == .run
                ? state.subscribers.lastDetached?.request.destination.path : nil
        }
        guard let path, let error = environment.store.refusal(of: path) else { return nil }
        update { state, decision in
            // A subscriber may have attached in the meantime.
            if state.subscribers.isEmpty { decision.actions += state.machine.stop(.abandon, at: now) }
        }
        return withState { $0.machine.intent == .abandon } ? error : nil
    }

    func markPartial(_ received: IntervalSet, epoch: Int) {
        onPartial { partial in partial.mark(received, epoch: epoch) }
    }

    func startPartial(_ representation: Representation, exchange id: ExchangeID) {
        updateQuietly { $0.storage.preparationRequested() }
        onPartialToRecord { [self] partial in
            guard refuseDestinations(suggestedName: representation.suggestedName) == nil else {
                return update { state, _ in
                    state.storage.preparationPerformed()
                    state.machine.startRefused()
                }
            }
            if reuseNamedFiles(representation, exchange: id) {
                return update { state, _ in state.storage.preparationPerformed() }
            }
            let result = Result { () throws(DownloadError) in try partial.begin(representation) }
            let allowsGaps = partial.allowsGaps
            update { state, decision in
                state.storage.preparationPerformed()
                state.storage.resetDigests()
                let failure = state.machine.isHeldBack(id) ? result.failure : nil
                let relocates = failure.map { relocate(after: $0, &state, &decision) } ?? false
                decision.actions += state.machine.partialStarted(
                    result, allowsGaps: allowsGaps, relocates: relocates, exchange: id, at: now)
            }
        }
    }

    func savePartial(_ received: IntervalSet) {
        onPartialToRecord { [self] partial in
            do throws(DownloadError) {
                try partial.save(received)
            } catch {
                environment.log.notice("no checkpoint", error)
            }
            input { $0.saved() }
        }
    }

    func closePartial(saving received: IntervalSet?) {
        onPartialToRecord { [self] partial in
            if let received, !received.isEmpty {
                // A mark needs neither a descriptor nor free space, in case the checkpoint fails because one of them is
                // lacking.
                partial.mark(received)
                do throws(DownloadError) {
                    try partial.save(received)
                } catch {
                    environment.log.notice("no checkpoint", error)
                }
            }
            let files = confirmedFiles()
            let kept = partial.close()
            if !serve(files) { closed(keeping: kept) }
        }
    }

    func discardPartial() {
        onPartial { [self] partial in
            // The bytes of a file are kept, because a request for a file without this limit may use them.
            let isKept = withState { $0.machine.failsForSize } && !partial.isInMemory && !partial.location.isSpilled
            if isKept { return closed(keeping: partial.close()) }
            partial.discard()
            closed()
        }
    }

    private func closed(keeping kept: IntervalSet? = nil) {
        environment.pressureResponder.start()
        update { state, decision in
            let location = state.storage.closed()
            if kept?.isEmpty == false { environment.keptLocations.insert(location) }
            decision.actions += state.machine.closed(keeping: kept, at: now)
        }
    }

    /// Keeps the file from which bytes were imported until a server has confirmed them.
    func awaitConfirmation(of file: ImportedFile) {
        updateQuietly { state in
            state.storage.keep(file)
            state.machine.awaitImportConfirmation()
        }
    }

    func removeImportedFile() {
        guard let file = update({ state, _ in state.storage.takeImportedFile() }) else { return }
        queue.async { [self] in environment.store.removeImported(file) }
    }
}

/// The recording and the rollback of unverified bytes.
extension ActiveTransfer {
    func recordPartial(_ received: IntervalSet, exchange id: ExchangeID) {
        updateQuietly { $0.storage.preparationRequested() }
        onPartialToRecord { [self] partial in
            let result = Result { () throws(DownloadError) in try partial.save(received) }
            update { state, decision in
                state.storage.preparationPerformed()
                let failure = state.machine.isHeldBack(id) ? result.failure : nil
                let relocates = failure.map { relocate(after: $0, &state, &decision) } ?? false
                decision.actions += state.machine.prepared(result, relocates: relocates, exchange: id, at: now)
            }
        }
    }

    func rollBackPartial(to received: IntervalSet, epoch: Int) {
        onPartial { [self] partial in
            // Bytes cannot be removed from a digest.
            update { state, _ in state.storage.resetDigests() }
            do throws(DownloadError) {
                try partial.rollBack(to: received, epoch: epoch)
            } catch {
                environment.log.notice("the checkpoint still claims bytes that were rolled back", error)
            }
        }
    }
}
