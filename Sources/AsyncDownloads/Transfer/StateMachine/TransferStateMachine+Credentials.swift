/// The proof that bytes which may have been received with other credentials are the same under the present ones.
///
/// An exchange that proves writes nothing: what it brings is compared with what is there. Until the proof has succeeded
/// nothing is asked for that would be appended, and until it has failed nothing is removed.
extension TransferStateMachine {
    /// Begins the proof where what was found on disk needs one.
    mutating func startCredentialProof() {
        credentialProof = nil
        reliesOnChecksum = false
        guard representation?.hasUnverifiedCredentials == true else { return }
        if settings.checksum != nil {
            reliesOnChecksum = true
        } else {
            credentialProof = CredentialProof(count: received.prefixEnd)
        }
    }

    /// Sends other headers from now on; without an account nothing says that they are of the same user.
    mutating func change(to new: CallerHeaders) {
        let isSame = headers.secretFields.sortedByName == new.secretFields.sortedByName
        headers = new
        guard !isSame else { return }
        hasTakenCredentials = false
        guard settings.account == nil, !received.isEmpty else { return }
        representation?.hasUnverifiedCredentials = true
        startCredentialProof()
    }

    /// Tells the partial which secret headers are sent, where they are not those of the request.
    mutating func takeCredentials() -> [TransferAction] {
        let secrets = headers.secretFields.sortedByName
        guard !hasTakenCredentials, secrets != settings.headers.secretFields.sortedByName else { return [] }
        hasTakenCredentials = true
        return [.useCredentials(secrets)]
    }

    /// Asks for the next bytes to compare; nil where nothing is to be proven.
    mutating func startComparison(at now: Duration) -> [TransferAction]? {
        guard let range = credentialProof?.next, let representation else { return nil }
        if let error = tooLarge(representation.length ?? received.count) { return fail(error, at: now) }
        let isComplete = representation.length.map(received.isComplete(below:)) ?? false
        guard representation.contentCoding == nil, representation.validator != nil || isComplete else {
            // Nothing could be continued, whoever received it.
            return restart(.noValidator) + advance(at: now)
        }
        let validator = representation.validator
        let asked = RequestedRange(
            range: ByteRange(first: range.lowerBound, last: range.upperBound - 1),
            condition: dropsCondition ? .none : validator.map { .ifMatch($0) } ?? .none)
        return startExchange(asked, compares: true, at: now)
    }

    /// The head of an exchange that brings bytes to compare.
    mutating func comparisonHeadArrived(
        _ head: ResponseHead, _ interpreter: ResponseInterpreter, at now: Duration
    ) -> [TransferAction] {
        switch interpreter.decideComparison(head) {
        case .compare(let skipped, let end):
            exchange?.end = end
            exchange?.toSkip = skipped
            rangeFaults = 0
            comparisonAnswered()
            state = .receiving
            return []
        case .proven:
            comparisonAnswered()
            return credentialsProven() + drain(.advance, at: now)
        case .otherwise(.retryRequest(.everything(let reason))):
            return comparisonFailed(reason, at: now)
        case .otherwise(.retryRequest(.unbounded)), .otherwise(.complete), .otherwise(.append), .otherwise(.begin):
            // Nothing of these would change what is asked for next.
            return comparisonFailed(.contentChanged, at: now)
        case .otherwise(let decision):
            return take(decision, head, at: now)
        }
    }

    /// `count` bytes of exchange `number` were compared with those that are there.
    mutating func compared(
        _ isEqual: Bool, exchange number: Int, at now: Duration
    ) -> [TransferAction] {
        guard exchange?.number == number else { return [] }
        exchange?.endWrite()
        exchange?.lastActivity = now
        // A stop came while the bytes were being compared, or an earlier part was different.
        guard state == .receiving, let current = exchange else { return [] }
        guard isEqual else { return comparisonFailed(.credentialsChanged, at: now) }
        guard current.overflowed, !current.isWriting else { return [] }
        // Rule 30: a body without an end would be received for ever.
        pendingError = DownloadError(
            .malformedResponse, "more bytes than the response's head promised", isRetryable: true)
        return drain(.retry, at: now)
    }

    /// The present target has answered, so that a later refusal means that it has expired.
    private mutating func comparisonAnswered() {
        redirects.isProven = true
        refreshCount = 0
    }

    /// Gives up what could not be proven; no change of the object that a transfer is charged for, nor one that comes again.
    private mutating func comparisonFailed(_ reason: RestartReason, at now: Duration) -> [TransferAction] {
        restart(reason) + drain(.advance, at: now)
    }

    /// An exchange that compared has ended in order, and all that it brought is equal.
    mutating func comparisonEnded(_ exchange: ExchangeProgress) -> [TransferAction] {
        credentialProof?.advance(to: exchange.position)
        return credentialProof?.next == nil ? credentialsProven() : []
    }

    private mutating func credentialsProven() -> [TransferAction] {
        credentialProof = nil
        representation?.hasUnverifiedCredentials = false
        return (representation.map { [.updateRepresentation($0)] } ?? []) + [.confirmCredentials]
    }
}
