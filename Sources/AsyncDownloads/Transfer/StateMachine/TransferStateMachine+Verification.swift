/// Bytes that something has to verify: a comparison, a digest, or the length that a head promised.
extension TransferStateMachine {
    /// Whether bytes under another validator may follow, because the digest decides at the end (rule 35).
    var toleratesChange: Bool {
        settings.contentChangePolicy == .verify && settings.checksum != nil && !bytes.hasDigestMismatch
    }

    /// Verifies and places the complete file.
    mutating func finish(_ representation: Representation, at now: Duration) -> [TransferAction] {
        guard let length = representation.length else { preconditionFailure("complete without a length") }
        if let error = tooLarge(length) { return fail(error, at: now) }
        // Rule 12: a complete body isn't requested again.
        var actions = endRun(.finishing(run.origins)) + leaveConnections()
        // Rule 57: the last progress is emitted even if earlier ones were coalesced.
        actions += [
            .emit(.progress(progress)), .emit(.verifying),
            .finishPartial(length: length, representation, verifying: bytes.reliesOnDigest ? settings.checksum : nil),
        ]
        return actions
    }

    /// Handles that the file is verified and placed, or could not be.
    mutating func finished(
        _ result: Result<[SubscriberID: Result<DownloadedFile, DownloadError>], DownloadError>, at now: Duration
    ) -> [TransferAction] {
        guard case .finishing(let origins) = state else { preconditionFailure("finished in \(phase)") }
        meter.stop()
        switch result {
        case .failure(let error) where error.code == .checksumMismatch && bytes.mayRestartUnverified:
            return restartUnverified(origins)
        case .failure(let error):
            return [.releasePermit] + end(.failed(error))
        case .success(let results):
            return [.releasePermit] + end(.finished(results))
        }
    }

    /// Restarts strictly, once: bytes under several validators, or of several users, were not of one object (rule 35).
    private mutating func restartUnverified(_ origins: OriginPair) -> [TransferAction] {
        let reason: RestartReason = bytes.reliesOnChecksum ? .credentialsChanged : .digestMismatch
        bytes.digestMismatched()
        return restart(reason) + openPartial(.transferring(origins))
    }
}

// MARK: - Rollbacks

extension TransferStateMachine {
    /// Rolls back an exchange that brought more bytes than its head promised (rule 30).
    ///
    /// Nothing says which of its bytes are the right ones. The bytes of other exchanges are kept.
    mutating func exceeded(_ exchange: ExchangeProgress, at now: Duration) -> [TransferAction] {
        let discarded = bytes.rollBack(exchange.written)
        let actions = rolledBack(discarded, .excessBytes)
        bytes.forgetEmptyRepresentation()
        // The race of the last write with a stop.
        guard isExchanging, exchange.isReceiving else { return actions }
        if exchange.isExtra {
            run.extras.turnOff()
            return actions + drain(.advance, at: now)
        }
        let isFirst = budget.countExcess(at: now)
        if !isFirst, exchange.request.range != nil {
            strategy.useUnbounded()
            return actions
                + (bytes.intervals.isEmpty
                    ? drain(.advance, at: now) : requestEverything(.invalidPartialResponse, at: now))
        }
        return actions + drain(.retry(.excessBytes), at: now)
    }

    /// Rolls back the bytes that only a digest could verify, where no digest is expected any more.
    mutating func rollBackUnverified() -> [TransferAction] {
        guard settings.checksum == nil, let start = bytes.takeUnverifiedStart() else { return [] }
        let update = bytes.representation.map { [TransferAction.updateRepresentation($0)] } ?? []
        let discarded = bytes.rollBack(to: start)
        return update + rolledBack(discarded, .contentChanged)
    }

    /// Rolls back `count` bytes that were discarded in the checkpoint as well, which a later process would use.
    private func rolledBack(_ count: Int64, _ reason: RestartReason) -> [TransferAction] {
        [.rollBackPartial(bytes.intervals, epoch: bytes.epoch)]
            + (count > 0 ? [.emit(.restarted(reason: reason, discardedByteCount: count))] : [])
    }
}

// MARK: - Credentials

/// Bytes that may have been received with other credentials are compared with those that the present credentials get.
///
/// An exchange that compares writes nothing. No byte is appended before the comparison has succeeded, and none is
/// removed before it has failed.
extension TransferStateMachine {
    /// What stands for the user whose bytes are received (``CallerHeaders/credentials``).
    var credentials: HeaderFields { address.headers.credentials }

    /// Requires a comparison if the bytes were received with other secret headers than those that are sent.
    mutating func requireProofOfCredentials() {
        // An account says that the headers are of the same user.
        guard settings.account == nil, credentials != bytes.credentials else { return }
        bytes.credentialsChanged(isChecksumExpected: settings.checksum != nil)
    }

    /// Records in the partial file which secret headers are sent, unless it knows them.
    mutating func recordCredentials() -> [TransferAction] {
        let credentials = credentials
        guard run.recordCredentials(credentials) else { return [] }
        // After a kill, the checkpoint must not say that bytes were received without secret headers.
        let isSaved = credentials.isEmpty || bytes.intervals.isEmpty || !bytes.isResumable
        return [.useCredentials] + (isSaved ? [] : [.savePartial(bytes.intervals)])
    }

    /// Requests the next bytes to compare; nil if nothing is to be compared.
    mutating func startComparison(at now: Duration) -> [TransferAction]? {
        guard let range = bytes.comparison?.next, let representation = bytes.representation else { return nil }
        if let error = tooLarge(representation.length ?? bytes.count) { return fail(error, at: now) }
        guard representation.contentCoding == nil, representation.validator != nil || bytes.isComplete else {
            // Such bytes can't be continued with any credentials.
            return restart(.noValidator) + advance(at: now)
        }
        let condition: RequestedRange.Condition =
            strategy.dropsCondition ? .none : representation.validator.map { .ifMatch($0) } ?? .none
        let request = RequestedRange(
            range: ByteRange(first: range.lowerBound, last: range.upperBound - 1), condition: condition)
        return startExchange(request, compares: true, at: now)
    }

    /// Does what the head of a comparison was found to mean.
    mutating func handleComparison(
        _ decision: ComparisonDecision, _ head: ResponseHead, _ id: ExchangeID, at now: Duration
    ) -> [TransferAction] {
        switch decision {
        case .compare(let skipped, let end):
            run.exchanges.update(id) { $0.accept(skipping: skipped, end: end) }
            strategy.rangeAnswered()
            address.comparisonAnswered()
            return []
        case .proven:
            address.comparisonAnswered()
            return credentialsVerified() + drain(.advance, at: now)
        case .otherwise(.retryRequest(.everything(let reason))):
            return comparisonFailed(reason, at: now)
        // None of these would change the next request.
        case .otherwise(.retryRequest(.unbounded)), .otherwise(.complete), .otherwise(.append), .otherwise(.begin):
            return comparisonFailed(.contentChanged, at: now)
        case .otherwise(let decision):
            return handle(decision, head, id, at: now)
        }
    }

    /// Handles the result of comparing a part.
    mutating func compared(_ isEqual: Bool, exchange id: ExchangeID, at now: Duration) -> [TransferAction] {
        run.exchanges.update(id) { $0.finishComparison(at: now) }
        // The race of a comparison with a stop, or with an earlier part that was different.
        guard let exchange = liveExchange(id), exchange.isReceiving else { return [] }
        guard isEqual else { return comparisonFailed(.credentialsChanged, at: now) }
        guard exchange.hasOverflowed, !exchange.isWriting else { return [] }
        // Rule 30: a body without an end would be received forever.
        return drain(.retry(.excessBytes), at: now)
    }

    /// Discards bytes that could not be verified; this counts neither as a change of the object nor as a forced
    /// restart.
    private mutating func comparisonFailed(_ reason: RestartReason, at now: Duration) -> [TransferAction] {
        restart(reason) + drain(.advance, at: now)
    }

    /// Handles the end of an exchange that compared, all of whose bytes are equal.
    mutating func comparisonEnded(_ exchange: ExchangeProgress) -> [TransferAction] {
        bytes.compared(to: exchange.position) ? credentialsVerified() : []
    }

    private mutating func credentialsVerified() -> [TransferAction] {
        bytes.credentialsVerified(credentials)
        return (bytes.representation.map { [.updateRepresentation($0)] } ?? []) + [.confirmCredentials]
    }
}

extension DownloadError {
    /// The error of a response with more bytes than its head promised.
    fileprivate static var excessBytes: Self {
        DownloadError(.malformedResponse, "more bytes than the response's head promised", isRetryable: true)
    }
}
