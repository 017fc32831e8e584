/// Bytes that still have to be verified by a comparison, a digest, or the length that a head promised.
extension TransferStateMachine {
    /// Whether bytes with another validator may follow, because the digest verifies the whole file at the end (rule
    /// 35).
    var toleratesChange: Bool {
        settings.contentChangePolicy == .verify && settings.checksum != nil && !bytes.hasDigestMismatch
    }

    /// Verifies and places the complete file.
    mutating func finish(_ representation: Representation, at now: Duration) -> [TransferAction] {
        guard let length = representation.length else { preconditionFailure("complete without a length") }
        if let error = tooLarge(length) { return fail(error, at: now) }
        // Rule 12: a complete body isn't requested again.
        var actions = endRun(.finishing(run.origins)) + leaveConnections()
        // Rule 57: the last progress is emitted even if earlier progress was coalesced.
        actions += [
            .emit(.progress(progress)), .emit(.verifying),
            .finishPartial(length: length, representation, verifying: bytes.reliesOnDigest ? settings.checksum : nil),
        ]
        return actions
    }

    /// Handles that the file was verified and placed, or that this has failed.
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

    /// Restarts without tolerating changes, because the combined bytes did not belong to one object (rule 35); happens
    /// once.
    private mutating func restartUnverified(_ origins: OriginPair) -> [TransferAction] {
        let reason: RestartReason = bytes.reliesOnChecksum ? .credentialsChanged : .digestMismatch
        bytes.digestMismatched()
        return restart(reason) + openPartial(.transferring(origins))
    }
}

// MARK: - Rollbacks

extension TransferStateMachine {
    /// Rolls back an exchange that delivered more bytes than its head promised (rule 30).
    ///
    /// Any of its bytes may be wrong. The bytes of other exchanges are kept.
    mutating func exceeded(_ exchange: ExchangeProgress, at now: Duration) -> [TransferAction] {
        let discarded = bytes.rollBack(exchange.written)
        let actions = rolledBack(discarded, .excessBytes)
        bytes.forgetEmptyRepresentation()
        // The transfer may have been stopped during the last write.
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

    /// Rolls back the bytes that only a digest could verify, if no digest is expected anymore.
    mutating func rollBackUnverified() -> [TransferAction] {
        guard settings.checksum == nil, let start = bytes.takeUnverifiedStart() else { return [] }
        let update = bytes.representation.map { [TransferAction.updateRepresentation($0)] } ?? []
        let discarded = bytes.rollBack(to: start)
        return update + rolledBack(discarded, .contentChanged)
    }

    /// Rolls back the `count` discarded bytes in the checkpoint as well, so that no later process uses them.
    private func rolledBack(_ count: Int64, _ reason: RestartReason) -> [TransferAction] {
        [.rollBackPartial(bytes.intervals, epoch: bytes.epoch)]
            + (count > 0 ? [.emit(.restarted(reason: reason, discardedByteCount: count))] : [])
    }
}

// MARK: - Credentials

/// Comparison of bytes that may have been received with other credentials.
///
/// An exchange that compares writes nothing. No byte is appended before the comparison has succeeded, and no byte is
/// removed before it has failed.
extension TransferStateMachine {
    /// The headers by which the server identifies the user (``CallerHeaders/credentials``).
    var credentials: HeaderFields { address.headers.credentials }

    /// Requires a comparison if the bytes were received with secret headers other than the present ones.
    mutating func requireProofOfCredentials() {
        // Headers of the same account belong to the same user.
        guard settings.account == nil, credentials != bytes.credentials else { return }
        bytes.credentialsChanged(isChecksumExpected: settings.checksum != nil)
    }

    /// Records the present secret headers in the partial file, unless they are already recorded.
    mutating func recordCredentials() -> [TransferAction] {
        let credentials = credentials
        guard run.recordCredentials(credentials) else { return [] }
        // After a kill, the checkpoint must not state that bytes were received without secret headers.
        let isSaved = credentials.isEmpty || bytes.intervals.isEmpty || !bytes.isResumable
        return [.useCredentials] + (isSaved ? [] : [.savePartial(bytes.intervals)])
    }

    /// Requests the next bytes to compare; nil if no comparison is required.
    mutating func startComparison(at now: Duration) -> [TransferAction]? {
        guard let range = bytes.comparison?.next, let representation = bytes.representation else { return nil }
        if let error = tooLarge(representation.length ?? bytes.count) { return fail(error, at: now) }
        guard representation.contentCoding == nil, representation.validator != nil || bytes.isComplete else {
            // Such bytes can't be continued, regardless of the credentials.
            return restart(.noValidator) + advance(at: now)
        }
        let validator = strategy.dropsCondition ? nil : representation.validator
        return startExchange(.segment(range, validator: validator), compares: true, at: now)
    }

    /// Handles the decision about the head of a comparison.
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
        // None of these decisions would change the next request.
        case .otherwise(.retryRequest(.unbounded)), .otherwise(.complete), .otherwise(.append), .otherwise(.begin):
            return comparisonFailed(.contentChanged, at: now)
        case .otherwise(let decision):
            return handle(decision, head, id, at: now)
        }
    }

    /// Handles the result of comparing a part.
    mutating func compared(_ isEqual: Bool, exchange id: ExchangeID, at now: Duration) -> [TransferAction] {
        run.exchanges.update(id) { $0.finishComparison(at: now) }
        // Otherwise, the transfer was stopped at the same time, or an earlier part was different.
        guard let exchange = liveExchange(id), exchange.isReceiving else { return [] }
        guard isEqual else { return comparisonFailed(.credentialsChanged, at: now) }
        guard exchange.hasOverflowed, !exchange.isWriting else { return [] }
        // Rule 30: a body without an end could be received forever.
        return drain(.retry(.excessBytes), at: now)
    }

    /// Discards bytes that could not be verified, without counting this as a change of the object or as a forced
    /// restart.
    private mutating func comparisonFailed(_ reason: RestartReason, at now: Duration) -> [TransferAction] {
        restart(reason) + drain(.advance, at: now)
    }

    /// Handles the end of a comparing exchange; all of its bytes are equal.
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

/// The restart of a transfer from its first byte.
extension TransferStateMachine {
    /// Discards the bytes and requests all of them again.
    mutating func requestEverything(_ reason: RestartReason, at now: Duration) -> [TransferAction] {
        guard let restartsBefore = budget.forceRestart(isBounded: strategy.isBounded, at: now) else {
            return drain(.fail(DownloadError(.contentChanged, "\(reason), again after a restart")), at: now)
        }
        if reason != .contentChanged || restartsBefore > 0 { strategy.useUnbounded() }
        return restart(reason, at: now) + drain(.advance, at: now)
    }

    /// Discards the bytes because of a response that may belong to another object.
    mutating func restart(_ reason: RestartReason, at now: Duration) -> [TransferAction] {
        if reason == .contentChanged, !bytes.intervals.isEmpty { budget.replaced(at: now) }
        return restart(reason)
    }

    /// Discards the bytes; the store removes them when the new representation starts.
    mutating func restart(_ reason: RestartReason) -> [TransferAction] {
        let discarded = bytes.discard()
        strategy.restoreCondition()
        return discarded > 0 ? [.emit(.restarted(reason: reason, discardedByteCount: discarded))] : []
    }

    mutating func refused(
        _ failure: ResponseDecision.Failure, _ head: ResponseHead, at now: Duration
    ) -> [TransferAction] {
        // A single wrong response may be caused by a proxy, so bytes are discarded only after the second one.
        if failure.blamesRange, !strategy.countFault() {
            strategy.useUnbounded()
            return bytes.intervals.isEmpty
                ? drain(.advance, at: now) : requestEverything(.invalidPartialResponse, at: now)
        }
        let canceling = !hasShortBody(head)
        if head.status.code == 401, policies.isAuthorizing,
            address.canReauthorize(head.headers.values(for: "WWW-Authenticate"))
        {
            return drain(.advance, canceling: canceling, at: now)
        }
        // Signed redirect targets are valid for minutes; the original URL leads to a new target.
        if address.returnToOrigin(after: head.status, hasBytes: !bytes.intervals.isEmpty) {
            return drain(.advance, canceling: canceling, at: now)
        }
        if [401, 403, 410].contains(head.status.code), let offer = address.takeOffer() {
            replace(by: offer)
            return drain(.advance, canceling: canceling, at: now)
        }
        if policies.isRefreshable, address.canRefresh(after: head.status) {
            return drain(.refresh(head.status), canceling: canceling, at: now)
        }
        let error = DownloadError(
            failure.code, failure.detail, statusCode: head.status.code, isRetryable: failure.isRetryable,
            retryAfter: failure.retryAfter)
        return refuse(error, head, hasShortBody: !canceling, at: now)
    }

    /// Returns whether the body is short enough to be received to its end, which keeps the connection open.
    func hasShortBody(_ head: ResponseHead) -> Bool {
        guard case .value(let length) = ContentLength(head.headers) else { return false }
        return length <= 16 << 10
    }
}
