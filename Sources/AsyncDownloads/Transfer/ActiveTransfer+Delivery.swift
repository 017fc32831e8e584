internal import Foundation

/// The delivery of the complete file to the subscribers, in rounds.
extension ActiveTransfer {
    /// Verifies the file and delivers it, including to subscribers that attach in the meantime.
    func finishPartial(length: Int64, of representation: Representation, verifying checksum: Checksum?) {
        // A short file is usually placed before another transfer could use the permit.
        let isLong = length > PartialFile.bufferedLength
        // The permit is yielded before pending operations of the queue, unless a digest may prove the bytes wrong.
        if isLong, checksum == nil { yieldPermit() }
        onPartial { [self] partial in
            let (fetched, responses, digests, location) = withState { state in
                (
                    state.machine.progress.fetchedByteCount, state.machine.bytes.responses, state.storage.digests,
                    state.storage.location
                )
            }
            var delivery = FileDelivery(
                partial, length: length, of: representation, key: key, at: location, fetched: fetched,
                responses: responses, digests: digests, environment: environment)
            do throws(DownloadError) {
                if let checksum { try delivery.verify(by: checksum) }
            } catch {
                return finished(.failure(error))
            }
            if isLong || partial.waitsForDisk || environment.slowDisks.contains(partial.volume, at: now) {
                yieldPermit()
            }
            deliver(&delivery, of: representation)
        }
    }

    /// Serves the subscribers in rounds until each has a result; the queue performs nothing else meanwhile.
    private func deliver(_ delivery: inout FileDelivery, of representation: Representation) {
        while let (recipients, digest) = nextRecipients(delivery, of: representation) {
            guard !recipients.isEmpty else { return deliverLater(delivery, of: representation) }
            guard let round = delivery.prepare(recipients, serverDigest: digest) else { continue }
            guard let outcomes = place(round, delivery, of: representation) else { return }
            delivery.record(outcomes, of: round)
        }
        served(delivery)
    }

    /// Ends a delivery in which each subscriber has a result.
    private func served(_ delivery: FileDelivery) {
        delivery.finish(isDiscarded: withState { $0.machine.intent == .discard })
        finished(.success(delivery.results))
    }

    /// Continues the delivery when the remaining subscribers have accepted or refused the response.
    private func deliverLater(_ delivery: FileDelivery, of representation: Representation) {
        // The queue performs nothing else until then.
        queue.suspend()
        yieldPermit()
        let proceed = { @Sendable [self] in
            BlockingThreads.run { [self] in
                var delivery = delivery
                deliver(&delivery, of: representation)
                queue.resume()
            }
        }
        guard let gate = updateQuietly({ $0.acceptance.whenSettled() }) else { return proceed() }
        gate.onOpen(proceed)
    }

    /// Places the file for a round; returns the outcomes, or nil if the delivery continues after the file is placed.
    private func place(
        _ round: FileDelivery.Round, _ delivery: FileDelivery, of representation: Representation
    ) -> [PlacementOutcome]? {
        // The queue performs nothing else until the file is placed.
        queue.suspend()
        let isWanted = { @Sendable [self] in withState { $0.machine.intent != .discard } }
        let outcomes = delivery.place(round, ifWanted: isWanted) { [self] outcomes in
            let resume = { @Sendable [self] in
                var delivery = delivery
                delivery.record(outcomes, of: round)
                deliver(&delivery, of: representation)
                queue.resume()
            }
            guard !outcomes.isEmpty, outcomes.allSatisfy({ $0.failure == nil }) else {
                return BlockingThreads.run(resume)
            }
            // Usually, the file was for one subscriber. What follows then doesn't wait for a disk, and another thread
            // would take more time than that.
            var placed = delivery
            placed.record(outcomes, of: round)
            guard nextRecipients(placed, of: representation) == nil else { return BlockingThreads.run(resume) }
            served(placed)
            queue.resume()
        }
        if outcomes != nil { queue.resume() } else { yieldPermit() }
        return outcomes
    }

    /// Returns the subscribers without a result, or nil if each has a result; after that, no subscriber can attach.
    ///
    /// The result is empty if all of these subscribers still have to accept the response.
    ///
    /// If the transfer finishes without subscribers because of its policy, the recipient is the subscriber that was
    /// detached last.
    private func nextRecipients(
        _ delivery: FileDelivery, of representation: Representation
    ) -> (recipients: [FileDelivery.Recipient], serverDigest: Checksum?)? {
        update { state, _ in
            let waiting = state.subscribers.active.filter { delivery.results[$0.id] == nil }
            var recipients = waiting.filter { !state.acceptance.isPending($0.id) }.map {
                FileDelivery.Recipient(
                    id: $0.id, request: $0.subscriber.request,
                    formerFile: state.delivery.examinedFiles.formerFile(of: $0.id))
            }
            // If the last subscriber discarded while the bytes were verified, no subscriber wants the file.
            let isForNobody =
                state.subscribers.isEmpty && delivery.results.isEmpty && state.machine.intent != .discard
                && state.subscribers.lastDetached.map { !state.acceptance.hasRefused($0.id) } ?? false
            // The path of the last subscriber stays reserved until the file is placed.
            let kept = isForNobody ? state.subscribers.lastDetached?.request.destination.path : nil
            releaseClosingPaths(&state, except: kept)
            if isForNobody, let last = state.subscribers.lastDetached {
                recipients = [
                    FileDelivery.Recipient(
                        id: last.id, request: last.request,
                        formerFile: state.delivery.examinedFiles.formerFile(of: last.id))
                ]
            }
            guard !recipients.isEmpty || !waiting.isEmpty else {
                state.delivery.serve()
                return nil
            }
            return (recipients, state.serverDigest(of: representation))
        }
    }

    private func finished(_ result: Result<[SubscriberID: Subscriber.Outcome], DownloadError>) {
        update { state, decision in
            let location = state.storage.closed()
            if case .success(let results) = result, results.values.contains(where: \.keepsBytes) {
                environment.keptLocations.insert(location)
            }
            decision.actions += state.machine.finished(result, at: now)
            // The transfer restarts: no file is placed now, and deadlines that passed in the meantime apply again.
            guard state.machine.phase != .ended else { return }
            releaseClosingPaths(&state, except: nil)
            state.delivery.restart()
            for (id, subscriber) in state.subscribers.active where subscriber.deadline != nil {
                decision.effects.append(DeferredEffect { [self] in watchDeadline(of: id) })
            }
        }
    }
}

extension ActiveTransfer.State {
    /// Returns the digest from the server that is cheapest to check (RFC 9530 leaves the choice to the recipient).
    func serverDigest(of representation: Representation) -> Checksum? {
        guard RunningDigest.isAvailable, let offered = representation.digests else { return nil }
        return offered.first { subscribers.algorithms.contains($0.algorithm) } ?? offered.first
    }
}

extension Subscriber.Outcome {
    /// Whether the bytes are kept because the file could not be placed.
    fileprivate var keepsBytes: Bool {
        if case .failure(let error) = self { return error.retainedByteCount > 0 }
        return false
    }
}
