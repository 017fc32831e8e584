internal import Foundation

/// Delays between attempts, and URLs that replace the present one.
extension TransferStateMachine {
    /// Counts a failure, and waits for the next attempt or ends the transfer.
    mutating func retry(_ error: DownloadError, at now: Duration) -> [TransferAction] {
        guard let attempt = nextAttempt(after: error) else { return fail(error, at: now) }
        address.attemptEnded()
        address.reset()
        // Attempts that aren't counted may follow each other within fractions of a second.
        let emissions = attempt.isCounted ? [emission(of: attempt, error)] : []
        return emissions + backOff(for: attempt, after: error, at: now)
    }

    /// Waits for a permit until the origin is tried again, or until another transfer has reached it.
    mutating func awaitOrigin(
        _ error: DownloadError, number: Int, delay: Duration, at now: Duration
    ) -> [TransferAction] {
        address.attemptEnded()
        budget.kept(bytes.count)
        return [.emit(.retrying(attempt: number, delay: delay, error: error))] + close(.keeping, at: now)
    }

    private mutating func nextAttempt(after error: DownloadError) -> RetryBudget.Attempt? {
        budget.nextAttempt(after: error, policy: policies.retryPolicy, received: bytes.count)
    }

    private func emission(of attempt: RetryBudget.Attempt, _ error: DownloadError) -> TransferAction {
        .emit(.retrying(attempt: attempt.number, delay: attempt.delay, error: error))
    }

    /// The maximum delay of the retry policy for which the permit and the open partial file are kept.
    ///
    /// They are also kept in the delays of ``RequestPacing``, in which the server is responding.
    ///
    /// A transfer has a permit while its partial file is open, until all bytes are received. The scheduler therefore
    /// limits the number of open files; otherwise, downloads that wait for a network would use every descriptor of the
    /// process.
    static let longestDelayWithPermit = Duration.milliseconds(250)

    private mutating func backOff(
        for attempt: RetryBudget.Attempt, after error: DownloadError, at now: Duration
    ) -> [TransferAction] {
        guard isRunning else { return releasePermit() + wait(for: attempt.delay) }
        if attempt.awaitsOrigin { return close(.keeping, at: now) }
        // While descriptors are short, nothing useful can be opened, so the transfer releases its descriptors.
        let keepsPermit = attempt.longestDelay <= Self.longestDelayWithPermit && error.code != .tooManyOpenFiles
        return keepsPermit ? delayRequest(for: attempt.delay) : close(.retrying(at: now + attempt.delay), at: now)
    }

    /// Waits before the next request of the run.
    mutating func delayRequest(for delay: Duration, isPaced: Bool = false) -> [TransferAction] {
        meter.stop()
        let timer = identifiers.timers.next()
        run.step = .delaying(timer, isPaced: isPaced)
        return [.scheduleRetry(delay, timer)]
    }

    /// Waits for the next attempt; nothing is open.
    mutating func wait(for delay: Duration, pollsOwner: Bool = false) -> [TransferAction] {
        let timer = identifiers.timers.next()
        state = .backingOff(timer, pollsOwner: pollsOwner)
        return [.scheduleRetry(delay, timer)]
    }

    /// Handles the end of a delay.
    mutating func retryDue(_ timer: TimerID, at now: Duration) -> [TransferAction] {
        if case .backingOff(timer, let pollsOwner) = state { return requestPermit(isRepeated: pollsOwner) }
        // Otherwise, the transfer was stopped at the same time, or the timer belongs to an earlier delay.
        guard isRunning else { return [] }
        switch run.step {
        // The caller hasn't supplied a fresh URL in time.
        case .refreshing(let id, timer): return close(.refreshing(id), at: now)
        case .delaying(timer, _): return advance(at: now)
        case .exchanging, .draining, .moving, .refreshing, .delaying: return []
        }
    }
}

// MARK: - Other URLs

extension TransferStateMachine {
    /// Sets the time at which the URL of the request expires.
    mutating func setExpiration(at time: Duration) {
        address.expire(at: time)
    }

    /// Records the address with which a later subscriber has requested the resource.
    mutating func offer(_ replacement: SourceAddress.Replacement) {
        address.offer(replacement)
    }

    /// Requests the resource from another URL immediately, on behalf of a subscriber.
    ///
    /// The bytes are kept; a response from another URL must prove that it belongs to the same object.
    mutating func replaceAddress(_ replacement: SourceAddress.Replacement, at now: Duration) -> [TransferAction] {
        guard intent != .discard else { return [] }
        switch state {
        case .ended, .finishing: return []
        default: break
        }
        replace(by: replacement)
        // The subscriber's URL is more recent than the refusals, so they are no longer counted.
        address.allowRefreshes()
        switch state {
        case .running:
            return requestElsewhere(at: now)
        case .backingOff(_, let pollsOwner):
            return requestPermit(isRepeated: pollsOwner)
        case .refreshing:
            return [.cancelRefresh] + requestPermit()
        case .awaitingNetwork:
            return requestPermit(isRepeated: true)
        // The previous URL may be refused, and its origin may be unreachable.
        case .waiting:
            return releasePermit() + requestPermit(isRepeated: true)
        case .closing(.retrying):
            state = .closing(.keeping)
            return []
        case .closing(.refreshing):
            state = .closing(.keeping)
            return [.cancelRefresh]
        // The transfer is ending, or will use the URL with the next request.
        case .ready, .opening, .closing, .paused, .finishing, .ended:
            return []
        }
    }

    /// Requests the next bytes from the URL that has replaced the previous one.
    private mutating func requestElsewhere(at now: Duration) -> [TransferAction] {
        switch run.step {
        case .exchanging:
            return drain(.advance, at: now)
        case .draining(.retry), .draining(.awaitOrigin), .draining(.refresh):
            run.step = .draining(.advance)
            return []
        case .delaying:
            return advance(at: now)
        case .refreshing:
            return [.cancelRefresh] + advance(at: now)
        case .draining, .moving:
            return []
        }
    }

    mutating func replace(by replacement: SourceAddress.Replacement) {
        let credentialsBefore = credentials
        let hostBefore = address.origins.requestedHost
        address.replace(by: replacement)
        strategy.addressChanged()
        if address.origins.requestedHost != hostBefore { hostChanged() }
        if credentials != credentialsBefore, bytes.comparison != nil {
            // Compared bytes are verified for the previous credentials only.
            bytes.credentialsChanged(isChecksumExpected: settings.checksum != nil)
        } else {
            requireProofOfCredentials()
        }
    }

    /// Requests a fresh URL; no exchange is in progress.
    mutating func refresh(_ reason: URLRefresh.Reason, at now: Duration) -> [TransferAction] {
        let context = URLRefresh.Context(url: address.origin, reason: reason, receivedByteCount: bytes.count)
        return inquire { .refreshURL(context, $0) }
    }

    /// Asks a subscriber for data that the next request needs; no exchange is in progress.
    mutating func inquire(_ action: (RefreshID) -> TransferAction) -> [TransferAction] {
        let (id, timer) = (identifiers.refreshes.next(), identifiers.timers.next())
        run.step = .refreshing(id, timer: timer)
        return [action(id), .scheduleRetry(Self.longestRefreshWithPermit, timer)]
    }

    /// The time for which the permit and the open partial file are kept while a subscriber supplies a fresh URL.
    static let longestRefreshWithPermit = Duration.seconds(2)

    /// The data that a subscriber has supplied.
    enum Supply: Sendable {
        case address(SourceAddress.Replacement)
        case authorization(Authorization.Answer)
    }

    /// Handles the data that a subscriber has supplied, or the reason why it hasn't.
    mutating func supplied(
        _ result: Result<Supply, DownloadError>, _ id: RefreshID, at now: Duration
    ) -> [TransferAction] {
        switch state {
        case .running:
            // Otherwise, the transfer was stopped at the same time, or its URL was replaced.
            guard case .refreshing(id, _) = run.step else { return [] }
            return supplied(result, at: now)
        case .refreshing(id):
            return supplied(result, at: now)
        case .closing(.refreshing(id)):
            return suppliedWhileClosing(result, at: now)
        case .ready, .waiting, .opening, .refreshing, .awaitingNetwork, .backingOff, .closing, .paused, .finishing,
            .ended:
            return []
        }
    }

    private mutating func supplied(_ result: Result<Supply, DownloadError>, at now: Duration) -> [TransferAction] {
        switch result {
        case .success(let supply):
            accept(supply, at: now)
            return isRunning ? advance(at: now) : requestPermit()
        case .failure(let error):
            // The next attempt requests it again, because the URL is still refused or expired, or the authorization is
            // missing.
            return retry(error, at: now)
        }
    }

    /// Determines the next step while the partial file is being closed.
    private mutating func suppliedWhileClosing(
        _ result: Result<Supply, DownloadError>, at now: Duration
    ) -> [TransferAction] {
        switch result {
        case .success(let supply):
            accept(supply, at: now)
            state = .closing(.keeping)
            return []
        // A pause cancels the call of the closure, which may have ended at the same time.
        case .failure where intent != .run:
            state = .closing(.keeping)
            return []
        case .failure(let error):
            guard let attempt = nextAttempt(after: error) else {
                state = .closing(.failing(error))
                return []
            }
            address.attemptEnded()
            state = .closing(.retrying(at: now + attempt.delay))
            return [emission(of: attempt, error)]
        }
    }

    private mutating func accept(_ supply: Supply, at now: Duration) {
        switch supply {
        case .address(let replacement):
            replace(by: replacement)
            address.refreshed(at: now)
        case .authorization(let answer):
            // If the transfer was stopped, the next attempt asks again.
            if intent == .run { address.authorize(answer) }
        }
    }
}

extension TransferStateMachine {
    /// Handles that an engine starts or stops waiting for a network connection.
    ///
    /// An extra exchange that waits counts as idle, because the others may have a connection.
    mutating func connectivityChanged(isWaiting: Bool, exchange id: ExchangeID, at now: Duration) -> [TransferAction] {
        guard isExchanging else { return [] }
        let isChange = run.exchanges.update(id) { exchange in
            if !isWaiting { exchange.connected(at: now) }
            return !exchange.isExtra && exchange.setWaiting(isWaiting, at: now)
        }
        return isChange == true && isWaiting ? [.emit(.waiting(reason: .connectivity))] : []
    }
}
