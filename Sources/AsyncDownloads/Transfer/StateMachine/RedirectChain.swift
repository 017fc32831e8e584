internal import Foundation

/// The redirects from the requested URL to the one that responds.
///
/// Every attempt starts at the requested URL: the target of a redirect is often signed for minutes only, and the bytes
/// are identified by their validator instead of their URL (rule 10).
struct RedirectChain: Sendable {
    /// The maximum number of redirects in one attempt.
    static let maximumHops = 20

    /// The requested URL, or the one that has replaced it.
    private(set) var origin: URL
    private(set) var current: URL { didSet { updateOrigins() } }
    /// The origin that the next request goes to, and the requested one.
    private(set) var origins: OriginPair
    private var hops = 0
    /// Whether a redirect to another origin was followed, so that no credentials are sent (rule 11).
    private(set) var hasLeftOrigin = false
    /// The origin to which the credentials are sent.
    private var trusted: Origin?
    /// Whether the present target has responded with bytes.
    var isProven = false
    /// Whether the request had to wait until the target's host had room, so that the target may have expired meanwhile.
    var hasWaited = false
    private var returnCount = 0

    init(origin: URL) {
        self.origin = origin
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
    /// - Parameter trusting: Whether credentials that were meant for another origin are sent to it.
    mutating func replaceOrigin(_ url: URL, trusting: Bool) {
        origin = url
        if trusting { trusted = Origin(url) }
        isProven = false
        reset()
    }

    /// Returns to the requested URL.
    mutating func reset() {
        current = origin
        hops = 0
        hasWaited = false
        hasLeftOrigin = Origin(origin) != trusted
    }

    /// Returns whether `status` may mean that the target of a redirect has expired (rule 10).
    ///
    /// - Parameter hasBytes: Whether bytes are present, which a target delivered.
    func hasExpired(_ status: StatusCode, hasBytes: Bool) -> Bool {
        guard current != origin, [401, 403, 404, 410].contains(status.code) else { return false }
        // A signature may have expired before its first use, because a cache stores the redirect.
        let isUnusable = status.code == 403 && hasLeftOrigin && returnCount < 2
        return isUnusable || isProven && hasBytes || hasWaited && returnCount < 3
    }

    /// Returns to the requested URL because its target has expired.
    mutating func returnToOrigin() {
        if !isProven { returnCount += 1 }
        reset()
        isProven = false
    }

    /// Follows a redirect, or returns the reason why not.
    mutating func follow(_ location: String?) -> DownloadError? {
        guard hops < Self.maximumHops else {
            return DownloadError(.tooManyRedirects, "more than \(Self.maximumHops)")
        }
        switch Redirect.target(location: location, relativeTo: current) {
        case .failure(let refusal):
            return DownloadError(.redirectRefused, "\(refusal)")
        case .success(let target):
            hops += 1
            // Once credentials were removed, no later redirect restores them: the server on the way chose the target.
            if Origin(target) != Origin(current) { hasLeftOrigin = true }
            current = target
            return nil
        }
    }

    /// Returns the headers of the next request: `own`, without secrets after a redirect to another origin, and
    /// `fields`.
    func headers(_ own: CallerHeaders, adding fields: HeaderFields) -> HeaderFields {
        var headers = hasLeftOrigin ? own.publicFields : own.fields
        headers.reserveCapacity(headers.count + 8)
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
