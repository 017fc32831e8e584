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
