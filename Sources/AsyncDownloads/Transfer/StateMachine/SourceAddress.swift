internal import Foundation

/// The address of a resource: the URL, the redirects from it, the headers, and fresh URLs.
struct SourceAddress: Sendable {
    /// A URL that replaces the present one, with times on the machine's clock.
    struct Replacement: Sendable, Hashable {
        var url: URL
        /// The new headers; nil keeps the present ones.
        var headers: CallerHeaders?
        /// The other origins that receive the secret headers; nil keeps the present ones.
        var credentialOrigins: Set<Origin>?
        var expiresAt: Duration?
    }

    /// Whether the present URL came from a refresh and no attempt with it has ended; if so, its refusal is final.
    private enum Freshness: Sendable {
        case none
        /// No request has been sent since the time of the refresh.
        case unused(since: Duration)
        case requested(since: Duration)
    }

    /// The maximum number of refreshes without an accepted response.
    ///
    /// It ends a download whose fresh URLs are refused, even if other events occur in between.
    private static let maximumRefreshCount = 10

    /// The maximum number of recorded URLs of the resource.
    ///
    /// A URL that was removed from the record may be offered again, which costs one request.
    private static let maximumKnownURLCount = 100

    private let requestedURL: URL
    private(set) var redirects: RedirectChain
    /// The headers of the request, or the headers that came with a fresh URL.
    private(set) var headers: CallerHeaders
    /// The time at which the URL expires.
    private var expiresAt: Duration?
    /// The URLs of the resource that were used or offered, including those that are no longer usable.
    private var knownURLs: Set<URL>
    /// The address with which a later subscriber has requested the resource.
    private var offer: Replacement?
    private var freshness = Freshness.none
    /// The secret headers of the attempt; nil if no subscriber supplies any, as in most transfers.
    private var authorization: CopyOnWrite<Authorization>?
    /// The number of refreshes since a response with bytes of the object was accepted.
    private var refreshCount = 0
    /// Whether the bytes came from another URL, so that the next response must prove that it belongs to the same
    /// object.
    private(set) var requiresVerification = false
    /// The origin behind a redirect that the transfer has last awaited without using a retry.
    private var awaitedOrigins: OriginPair?

    init(url: URL, headers: CallerHeaders, credentialOrigins: Set<Origin> = []) {
        requestedURL = url
        redirects = RedirectChain(origin: url, credentialOrigins: credentialOrigins)
        self.headers = headers
        knownURLs = [url]
    }

    /// The origin that the next request goes to, and the requested origin.
    var origins: OriginPair { redirects.origins }

    /// Returns whether the transfer may await the present origin without using a retry.
    ///
    /// A site that redirects to another origin each time could otherwise cause any number of requests, even if each of
    /// these origins answers once.
    mutating func mayAwaitOrigin() -> Bool {
        if origins.isDirect { return true }
        defer { awaitedOrigins = origins }
        return awaitedOrigins == nil || awaitedOrigins == origins
    }

    /// The URL that the next request goes to.
    var url: URL { redirects.current }

    /// The URL before redirects.
    var origin: URL { redirects.origin }
}

// MARK: - Replacements

extension SourceAddress {
    /// Uses another URL from now on.
    mutating func replace(by new: Replacement) {
        // A server that refuses repeatedly causes another fresh URL each time.
        if knownURLs.count >= Self.maximumKnownURLCount { knownURLs = [requestedURL] }
        knownURLs.insert(new.url)
        offer = nil
        freshness = .none
        redirects.replaceOrigin(new.url, trusting: new.headers != nil, credentialOrigins: new.credentialOrigins)
        if let headers = new.headers { self.headers = headers }
        expiresAt = new.expiresAt
        requiresVerification = true
        // The secret headers may belong to another subscriber, so they aren't sent to the new origin.
        authorization?.value.attemptEnded()
    }

    /// Records a URL that a later subscriber has requested, without disturbing the present exchange.
    mutating func offer(_ new: Replacement) {
        // A request of the same account may contain a newer token for a known URL.
        let hasNewHeaders = new.headers.map { $0.fields.sortedByName != headers.fields.sortedByName } ?? false
        guard knownURLs.insert(new.url).inserted || hasNewHeaders else { return }
        offer = new
    }

    /// Returns the offered URL, to be used now; nil if none was offered.
    mutating func takeOffer() -> Replacement? {
        defer { offer = nil }
        return offer
    }

    /// Requires the next response to prove that it belongs to the same object as the bytes from another URL.
    mutating func requireVerification() {
        requiresVerification = true
    }

    /// Records that the present URL has responded with bytes of the object.
    mutating func answered() {
        comparisonAnswered()
        refreshCount = 0
        requiresVerification = false
    }

    /// Records that the present URL has responded with bytes that are only compared.
    mutating func comparisonAnswered() {
        redirects.isProven = true
        accepted()
    }

    /// Records that the present URL was not refused, so that a later refusal doesn't count as a refusal of a fresh URL.
    mutating func accepted() {
        freshness = .none
        authorization?.value.accepted()
    }
}

// MARK: - Authorization

extension SourceAddress {
    /// Returns the request to a subscriber before the next request; nil if the attempt has its secret headers.
    mutating func authorizationRequest() -> AuthorizationRequest? {
        var present = authorization?.value ?? Authorization()
        defer { authorization = CopyOnWrite(present) }
        return present.request(for: url)
    }

    /// Adds the supplied secret headers to the requests of the attempt.
    mutating func authorize(_ answer: Authorization.Answer) {
        authorization?.value.supply(answer)
    }

    /// Handles a response with status 401, and returns whether to ask a subscriber for other secret headers.
    mutating func canReauthorize(_ challenges: [String]) -> Bool {
        guard let answer = authorization?.value.answer, redirects.receives(answer) else { return false }
        return authorization?.value.refuse(challenges: challenges) ?? false
    }

    /// Returns the headers of a request.
    ///
    /// - Parameter redirects: The redirects that have led to the URL of the request.
    func headers(along redirects: RedirectChain, adding fields: HeaderFields) -> HeaderFields {
        redirects.headers(headers, authorization?.value.answer, adding: fields)
    }
}

// MARK: - Expiration and refresh

extension SourceAddress {
    /// Sets the time at which the URL expires.
    mutating func expire(at time: Duration) {
        expiresAt = time
    }

    /// Returns whether the URL has expired.
    func hasExpired(at now: Duration) -> Bool { expiresAt.map { now >= $0 } ?? false }

    /// Returns whether to request a fresh URL after a refusal with `status`; false if the present URL is itself fresh.
    func canRefresh(after status: StatusCode) -> Bool {
        guard case .none = freshness, refreshCount < Self.maximumRefreshCount else { return false }
        return [401, 403, 410].contains(status.code)
    }

    /// Records that the present URL came from a refresh.
    mutating func refreshed(at now: Duration) {
        freshness = .unused(since: now)
        refreshCount += 1
        // A URL that has already expired on arrival is used anyway, because the clocks may differ.
        if hasExpired(at: now) { expiresAt = nil }
    }

    /// Prepares the next request: a fresh URL that has been unused for longer than `limit` may be refreshed again.
    mutating func willRequest(at now: Duration, freshFor limit: Duration) {
        if case .unused(let since) = freshness { freshness = now - since > limit ? .none : .requested(since: since) }
    }

    /// Permits as many refreshes as at the start.
    mutating func allowRefreshes() {
        refreshCount = 0
    }

    /// Records that an attempt has ended without a refusal, for example because of a lost connection or a pause, so
    /// that a later refusal doesn't count as a refusal of a fresh URL.
    mutating func attemptEnded() {
        if case .requested = freshness { freshness = .none }
        authorization?.value.attemptEnded()
    }
}

// MARK: - Redirects

extension SourceAddress {
    /// Follows a redirect, or returns the reason why it can't be followed.
    mutating func follow(_ location: String?) -> DownloadError? { redirects.follow(location) }

    /// Returns the heads of the followed redirects and of the response to the last request.
    func responses(endingWith head: ResponseHead) -> [ResponseHead] { redirects.responses + [head.withoutSecrets] }

    /// Records the head of a followed redirect.
    mutating func followed(_ head: ResponseHead) {
        redirects.followed(head)
    }

    /// Returns to the URL before redirects.
    mutating func reset() {
        redirects.reset()
    }

    /// Returns to the URL before redirects if the target may have expired.
    ///
    /// - Returns: Whether it has returned.
    mutating func returnToOrigin(after status: StatusCode, hasBytes: Bool) -> Bool {
        guard redirects.hasExpired(status, hasBytes: hasBytes) else { return false }
        redirects.returnToOrigin()
        return true
    }

    /// Records that the request to the target of a redirect has to wait for a permit.
    mutating func targetWaits() {
        if case .requested(let since) = freshness { freshness = .unused(since: since) }
        redirects.hasWaited = true
    }
}
