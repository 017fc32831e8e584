internal import struct Foundation.Data

/// Responses that refuse a request, and the first bytes of their bodies.
extension TransferStateMachine {
    /// The maximum time to wait for the rest of a refusal's body.
    private static let longestRefusalTime = Duration.seconds(5)

    /// Returns whether the body of the exchange belongs to the pending error.
    func awaitsRefusal(_ id: ExchangeID) -> Bool {
        guard isRunning, case .draining(let followUp) = run.step, followUp.error?.isRefusal == true
        else { return false }
        return run.exchanges[id]?.isCanceled == false
    }

    /// Adds the first bytes of the response's body to the error of a refusal.
    mutating func receivedRefusal(_ body: Data) {
        guard isRunning, case .draining(let followUp) = run.step else { return }
        run.step = .draining(followUp.withResponseBody(body))
    }

    /// Cancels the exchange of a refusal if its body takes too long.
    mutating func cancelLongRefusal(at now: Duration) -> [TransferAction] {
        guard case .draining(let followUp) = run.step, followUp.error?.isRefusal == true,
            run.exchanges.all.contains(where: {
                !$0.exchange.isCanceled && now - $0.exchange.lastActivity >= Self.longestRefusalTime
            })
        else { return [] }
        return run.cancelExchanges(at: now)
    }

    /// Fails or retries because of a response.
    mutating func refuse(
        _ error: DownloadError, _ head: ResponseHead, hasShortBody: Bool, at now: Duration
    ) -> [TransferAction] {
        let error = error.concerning(head)
        // The body of the last attempt is awaited, because no other request follows.
        let isAwaited = hasShortBody || error.isRefusal && isLastAttempt(error)
        return drain(error.isRetryable ? .retry(error) : .fail(error), canceling: !isAwaited, at: now)
    }

    /// Returns whether no attempt follows after a failure.
    private func isLastAttempt(_ error: DownloadError) -> Bool {
        var budget = budget
        return budget.nextAttempt(after: error, policy: policies.retryPolicy, received: bytes.count) == nil
    }
}

extension DownloadError {
    /// Whether the error was caused by a response whose body may describe it.
    fileprivate var isRefusal: Bool { response?.status.isSuccess == false }
}

extension Run.DrainFollowUp {
    /// The error of the failure, or of the attempt that is retried.
    fileprivate var error: DownloadError? {
        switch self {
        case .fail(let error), .retry(let error): error
        case .advance, .refresh, .awaitOrigin, .reuse, .relocate: nil
        }
    }

    /// Returns the same step, with the first bytes of the body in its error if the error was caused by a response.
    fileprivate func withResponseBody(_ body: Data) -> Self {
        guard var error, error.isRefusal else { return self }
        error.responseBody = body
        if case .retry = self { return .retry(error) }
        return .fail(error)
    }
}
