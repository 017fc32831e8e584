internal import Foundation

/// The redirects from the requested URL to the URL that responds.
///
/// Every attempt starts at the requested URL: the target of a redirect is often signed for only a few minutes, and the
/// bytes are identified by their validator instead of their URL (rule 10).
struct RedirectChain: Sendable {
    /// The maximum number of redirects in one attempt.
    static let maximumHops = 20

    /// The requested URL, or the URL that has replaced it.
    private(set) var origin: URL
    private(set) var current: URL { didSet { updateOrigins() } }
    /// The origin that the next request goes to, and the requested origin.
    private(set) var origins: OriginPair
    private var hops = 0
    /// The heads of the followed redirects, without secrets.
    private(set) var responses: [ResponseHead] = []
    /// Whether a redirect has led to an origin that receives no credentials, so that none are sent anymore (rule 11).
    private(set) var hasLeftOrigin = false
    /// The origin of the URL that the credentials are meant for.
    private var trusted: Origin?
    /// The other origins that receive the credentials.
    private var credentialOrigins: Set<Origin>
    /// Whether the present target has responded with bytes.
    var isProven = false
    /// Whether the request had to wait for capacity at the target's host, so that the target may have expired
    /// meanwhile.
    var hasWaited = false
    private var returnCount = 0

    init(origin: URL, credentialOrigins: Set<Origin> = []) {
        self.origin = origin
        self.credentialOrigins = credentialOrigins
        current = origin
        origins = OriginPair(origin)
        trusted = Origin(origin)
    }

    private mutating func updateOrigins() {
        let new = OriginPair(requested: origin, target: current)
        if new != origins { origins = new }
    }

    /// Uses another URL from now on.
    ///
    /// - Parameters:
    ///   - trusting: Whether credentials that were meant for another origin are sent to the new origin.
    ///   - credentialOrigins: The other origins that receive credentials; nil for the present ones.
    mutating func replaceOrigin(_ url: URL, trusting: Bool, credentialOrigins: Set<Origin>? = nil) {
        origin = url
        if trusting { trusted = Origin(url) }
        if let credentialOrigins { self.credentialOrigins = credentialOrigins }
        isProven = false
        reset()
    }

    /// Returns to the requested URL.
    mutating func reset() {
        current = origin
        hops = 0
        responses = []
        hasWaited = false
        hasLeftOrigin = !receivesCredentials(Origin(origin))
    }

    private func receivesCredentials(_ origin: Origin?) -> Bool {
        origin == trusted || origin.map(credentialOrigins.contains) ?? false
    }

    /// Whether the client may authenticate with its identity: only to the origin of the URL, and not after a redirect
    /// that has removed the credentials.
    var permitsIdentity: Bool { !hasLeftOrigin && Origin(current) == trusted }

    /// Returns whether `status` may mean that the target of a redirect has expired (rule 10).
    ///
    /// - Parameter hasBytes: Whether any bytes have been received.
    func hasExpired(_ status: StatusCode, hasBytes: Bool) -> Bool {
        guard current != origin, [400, 401, 403, 404, 410].contains(status.code) else { return false }
        // A signature may have expired before its first use, because a cache stored the redirect.
        let isUnusable = status.code == 403 && (hasLeftOrigin || !origins.isDirect)
        return isProven && hasBytes || (isUnusable || hasWaited) && returnCount < 2
    }

    /// Returns to the requested URL, because the target of its redirect has expired.
    mutating func returnToOrigin() {
        if !isProven { returnCount += 1 }
        reset()
        isProven = false
    }

    /// Follows a redirect, or returns the reason why it can't be followed.
    mutating func follow(_ location: String?) -> DownloadError? {
        guard hops < Self.maximumHops else {
            return DownloadError(.tooManyRedirects, "more than \(Self.maximumHops)")
        }
        switch Redirect.target(location: location, relativeTo: current) {
        case .failure(let refusal):
            return DownloadError(.redirectRefused, "\(refusal)")
        case .success(let target):
            hops += 1
            // Removed credentials are not restored by later redirects, because the intermediate server has chosen the
            // target.
            if !receivesCredentials(Origin(target)) { hasLeftOrigin = true }
            current = target
            return nil
        }
    }

    /// Records the head of a followed redirect.
    mutating func followed(_ head: ResponseHead) {
        responses.append(head.withoutSecrets)
    }

    /// Returns whether the next request contains the fields of an authorization.
    func receives(_ authorization: Authorization.Answer) -> Bool {
        !hasLeftOrigin && Origin(current).map(authorization.origins.contains) ?? false
    }

    /// Returns the headers of the next request: `own` and the authorization, without secrets after a redirect to
    /// another origin, and `fields`.
    func headers(
        _ own: CallerHeaders, _ authorization: Authorization.Answer? = nil, adding fields: HeaderFields
    ) -> HeaderFields {
        var headers = hasLeftOrigin ? own.publicFields : own.fields
        headers.reserveCapacity(headers.count + 8)
        if let authorization, receives(authorization) {
            for name in Set(authorization.fields.map { $0.name.asciiLowercased() }) { headers[name] = nil }
            for field in authorization.fields { headers.append(field.value, for: field.name) }
        }
        // Rule 6: offsets count the bytes of the representation only without a content coding.
        headers["Accept-Encoding"] = "identity"
        if headers["Accept"] == nil { headers["Accept"] = "*/*" }
        if headers["User-Agent"] == nil { headers["User-Agent"] = "async-downloads" }
        if RunningDigest.isAvailable, headers["Want-Repr-Digest"] == nil {
            headers["Want-Repr-Digest"] = ReprDigest.preference
        }
        for field in fields { headers[field.name] = field.value }
        return headers
    }
}
