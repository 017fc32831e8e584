internal import Foundation

/// Where the resource is asked for: replaced by a caller, or refreshed when it is refused or has expired.
///
/// The bytes at hand stay; whatever another URL answers has to prove that it is the same object before they are used.
extension TransferStateMachine {
    /// Where to go from now on, with times on the machine's clock.
    struct Address: Sendable, Hashable {
        var url: URL
        /// nil keeps the present ones.
        var headers: CallerHeaders?
        var expiresAt: Duration?
    }

    /// The callers want the resource from another URL, at once.
    mutating func replaceAddress(_ address: Address, at now: Duration) -> [TransferAction] {
        guard state != .ended, state != .finishing, intent != .discard else { return [] }
        move(to: address)
        // The caller knows better than a server that has refused.
        refreshCount = 0
        switch state {
        case .connecting, .preparing, .receiving:
            return drain(.advance, at: now)
        case .draining(.retry), .draining(.refresh):
            state = .draining(.advance)
            return []
        case .backingOff:
            return isPartialOpen ? advance(at: now) : requestPermit(at: now)
        case .refreshing:
            return [.cancelRefresh] + (isPartialOpen ? advance(at: now) : requestPermit(at: now))
        case .closing(.retrying), .closing(.refreshing):
            state = .closing(.keeping)
            return []
        // Ending, or looking at the address when they go on.
        case .ready, .waiting, .opening, .draining, .closing, .paused, .finishing, .ended:
            return []
        }
    }

    /// A caller who joins asks elsewhere for the resource; what goes well is not disturbed by it.
    mutating func offer(_ address: Address) {
        // Requests of one account may bring a newer token for a URL that is known.
        let hasNewHeaders = address.headers.map { $0.fields.sortedByName != headers.fields.sortedByName } ?? false
        guard knownURLs.insert(address.url).inserted || hasNewHeaders else { return }
        offeredAddress = address
    }

    /// Goes to where a caller who came later has asked, and says whether there is such a place.
    @discardableResult
    mutating func acceptOffer() -> Bool {
        guard let address = offeredAddress else { return false }
        move(to: address)
        refreshCount = 0
        return true
    }

    /// Bytes from another URL have to prove themselves: where all are there, the last one is asked for again.
    mutating func withholdUnverifiedEnd() {
        guard let representation, representation.cameFromDifferentURL || representation.isImported else { return }
        if representation.cameFromDifferentURL { requiresVerification = true }
        // A digest that is expected proves what was imported as well as any server.
        if !representation.cameFromDifferentURL, settings.checksum != nil { return }
        guard let length = representation.length, length > 0, received.isComplete(below: length) else { return }
        received.truncate(to: length - 1)
    }

    private mutating func move(to address: Address) {
        // A server that refuses again and again has every fresh URL added here.
        if knownURLs.count >= Self.mostKnownURLs { knownURLs = [settings.url] }
        knownURLs.insert(address.url)
        offeredAddress = nil
        redirects.replaceOrigin(address.url, trusting: address.headers != nil)
        if let headers = address.headers { change(to: headers) }
        expiresAt = address.expiresAt
        requiresVerification = true
        rangeFaults = 0
        hasDroppedCondition = false
    }

    /// Whether a refusal by `status` can be answered by a fresh URL.
    func canRefresh(after status: StatusCode) -> Bool {
        demands.isRefreshable && refreshCount < 1 && [401, 403, 410].contains(status.code)
    }

    /// Whether the URL's time is over, and there is somebody to ask for another one.
    func hasExpired(at now: Duration) -> Bool {
        guard demands.isRefreshable, let expiresAt else { return false }
        return now >= expiresAt
    }

    /// Asks for a fresh URL; no exchange is under way.
    mutating func refresh(_ reason: URLRefresh.Reason, at now: Duration) -> [TransferAction] {
        refreshCount += 1
        delayCount += 1
        state = .refreshing(delayCount)
        let context = URLRefresh.Context(url: redirects.origin, reason: reason, receivedByteCount: received.count)
        return [
            .refreshURL(context, number: delayCount),
            .scheduleRetry(Self.longestRefreshWithPermit, number: delayCount),
        ]
    }

    /// How many URLs of the resource are remembered.
    ///
    /// One that was forgotten may be offered once more, which costs a request.
    private static let mostKnownURLs = 100

    /// How long the permit and the open partial are kept while a caller looks for a fresh URL.
    static let longestRefreshWithPermit = Duration.seconds(2)

    /// The answer to `refreshURL` of this number.
    mutating func refreshed(
        _ result: Result<Address, DownloadError>, number: Int, at now: Duration
    ) -> [TransferAction] {
        switch state {
        case .refreshing(number): break
        // Looked at when the partial is closed.
        case .closing(.refreshing(number)): return refreshedWhileClosing(result, at: now)
        // A stop, or another URL, came first.
        default: return []
        }
        switch result {
        case .success(let address):
            accept(address, at: now)
            return isPartialOpen ? advance(at: now) : requestPermit(at: now)
        case .failure(let error):
            // The next attempt finds the URL refused, or expired, and asks again.
            refreshCount = 0
            return retry(error, at: now)
        }
    }

    private mutating func refreshedWhileClosing(
        _ result: Result<Address, DownloadError>, at now: Duration
    ) -> [TransferAction] {
        switch result {
        case .success(let address):
            accept(address, at: now)
            state = .closing(.keeping)
            return []
        case .failure(let error):
            refreshCount = 0
            guard let attempt = nextAttempt(after: error) else {
                pendingError = error
                state = .closing(.failing)
                return []
            }
            state = .closing(.retrying(at: now + attempt.delay))
            return [attempt.event]
        }
    }

    private mutating func accept(_ address: Address, at now: Duration) {
        move(to: address)
        refreshedAt = now
        // A URL that has expired when it comes is used all the same: the clocks may differ.
        if hasExpired(at: now) { expiresAt = nil }
    }
}
