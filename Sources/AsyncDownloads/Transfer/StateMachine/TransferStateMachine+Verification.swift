/// Bytes that may not be what they seem: those that a digest has to prove, and those that are taken back.
extension TransferStateMachine {
    /// Whether bytes under another validator may follow those at hand, since the digest decides at the end (rule 35).
    var toleratesChange: Bool {
        settings.contentChangePolicy == .verify && settings.checksum != nil && !hasDigestMismatch
    }

    /// Whether a wrong digest is a reason to begin again, once.
    var mayRestartUnverified: Bool { reliesOnDigest && !hasDigestMismatch }

    /// Whether bytes are used only because the expected digest will decide.
    var reliesOnDigest: Bool { representation?.unverifiedFrom != nil || reliesOnChecksum }

    /// Bytes under several validators were not one object's: strictly from the first byte, once (rule 35).
    mutating func restartUnverified() -> [TransferAction] {
        hasDigestMismatch = true
        isPartialOpen = false
        return restart(reliesOnChecksum ? .credentialsChanged : .digestMismatch) + openPartial()
    }

    /// More bytes came than the head promised, so nothing tells which of them are those that it spoke of (rule 30).
    mutating func exceeded(_ exchange: ExchangeProgress, at now: Duration) -> [TransferAction] {
        let actions = rollBack(from: exchange.asked.start, .excessBytes)
        if received.isEmpty { representation = nil }
        // A stop came while the last bytes were being written.
        guard state == .receiving else { return actions }
        excessCount += 1
        if excessCount > 1, exchange.asked.range != nil {
            usesWindows = false
            return actions
                + (received.isEmpty ? drain(.advance, at: now) : requestEverything(.invalidPartialResponse, at: now))
        }
        pendingError = DownloadError(
            .malformedResponse, "more bytes than the response's head promised", isRetryable: true)
        return actions + drain(.retry, at: now)
    }

    /// Takes back what a digest would have to prove where none is expected any more.
    mutating func rollBackUnverified() -> [TransferAction] {
        guard settings.checksum == nil, let start = representation?.unverifiedFrom else { return [] }
        representation?.unverifiedFrom = nil
        let update = representation.map { [TransferAction.updateRepresentation($0)] } ?? []
        return update + rollBack(from: start, .contentChanged)
    }

    /// Takes back the bytes from `start` on, also from the record, by which a later process would go.
    private mutating func rollBack(from start: Int64, _ reason: RestartReason) -> [TransferAction] {
        let before = received.count
        received.truncate(to: start)
        let discarded = before - received.count
        guard discarded > 0 else { return [.rollBackPartial(received)] }
        return [.rollBackPartial(received), .emit(.restarted(reason: reason, discardedByteCount: discarded))]
    }
}
