internal import Dispatch
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
            DispatchQueue.runBlocking { [self] in
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
                return DispatchQueue.runBlocking(resume)
            }
            // Usually, the file was for one subscriber. What follows then doesn't wait for a disk, and another thread
            // would take more time than that.
            var placed = delivery
            placed.record(outcomes, of: round)
            guard nextRecipients(placed, of: representation) == nil else { return DispatchQueue.runBlocking(resume) }
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

/// Digests that are computed while bytes are received, which saves time at the end.
extension ActiveTransfer {
    /// Performs one turn on the store's queue, and additional turns while enough bytes are available.
    func digestOnQueue() {
        onPartial { [self] partial in
            var (digests, wanted, available) = withState { state in
                (state.storage.digests, state.wantedDigests, state.machine.bytes.intervals.prefixEnd)
            }
            digests.advance(wanted, available: available, in: partial)
            let isDue = update { [digests] state, _ in
                state.storage.digested(digests)
                return state.beginDigesting()
            }
            if isDue { digestOnQueue() }
        }
    }
}

extension ActiveTransfer.State {
    /// Returns whether a turn is due; if so, counts it as started.
    mutating func beginDigesting() -> Bool {
        let wanted = wantedDigests
        return !wanted.isEmpty && storage.beginDigesting(wanted, available: machine.bytes.intervals.prefixEnd)
    }

    /// The algorithms whose digests will be needed at the end, as far as known.
    var wantedDigests: Set<Checksum.Algorithm> {
        guard subscribers.isAnyUnchecked, let representation = machine.bytes.representation,
            let checksum = serverDigest(of: representation)
        else { return subscribers.algorithms }
        return subscribers.algorithms.union([checksum.algorithm])
    }
}

/// The digests of a transfer's file, computed while the bytes arrive.
///
/// The only effect is reading the partial file. Turns are short, so that other work on the transfer's queue isn't
/// delayed for long. While a turn is running or due, no other turn is started.
struct TransferDigests: Sendable {
    /// The maximum number of bytes in one turn.
    private static let turnSize: Int64 = 16 << 20
    /// The minimum number of bytes for which a turn is worthwhile.
    private static let leastTurn: Int64 = 1 << 20

    private var running: [Checksum.Algorithm: RunningDigest] = [:]
    private var isUnderWay = false

    /// Returns the number of bytes that every wanted digest includes.
    func position(of wanted: Set<Checksum.Algorithm>) -> Int64 {
        wanted.map { running[$0]?.position ?? 0 }.min() ?? 0
    }

    /// Returns whether to start a turn when the first `available` bytes are on disk.
    mutating func begin(_ wanted: Set<Checksum.Algorithm>, available: Int64) -> Bool {
        guard !isUnderWay, !wanted.isEmpty, available - position(of: wanted) >= Self.leastTurn else { return false }
        isUnderWay = true
        return true
    }

    /// Performs one turn; blocks on the disk.
    mutating func advance(_ wanted: Set<Checksum.Algorithm>, available: Int64, in partial: PartialFile) {
        isUnderWay = false
        for algorithm in wanted {
            // Bytes that can't be read now are read at the end, when a failure is reported.
            guard var digest = running[algorithm] ?? (try? RunningDigest(algorithm)) else { continue }
            try? digest.advance(to: min(available, digest.position + Self.turnSize), reading: partial.read)
            running[algorithm] = digest
        }
    }

    /// Returns the digest of the whole file in lower-case hexadecimal digits; blocks on the disk.
    mutating func finish(
        _ algorithm: Checksum.Algorithm, length: Int64, reading read: RunningDigest.Reading
    ) throws(DownloadError) -> String {
        var digest: RunningDigest = if let begun = running[algorithm] { begun } else { try RunningDigest(algorithm) }
        try digest.advance(to: length, reading: read)
        running[algorithm] = digest
        return digest.hex
    }
}
