internal import Foundation

/// The way from the URL that was asked for over redirects to the one that answers.
///
/// Every attempt begins at the original URL: where a redirect leads is often signed for minutes only, and what the
/// bytes are is proven by their validator rather than by their address (rule 10).
struct RedirectChain: Sendable {
    /// The most redirects that are followed.
    static let maximumHops = 20

    /// The URL that was asked for, or has replaced it.
    private(set) var origin: URL
    private(set) var current: URL
    private var hops = 0
    private var hasLeftOrigin = false
    /// Whom the credentials are meant for.
    private var trusted: Origin?
    /// Whether the present target has answered with bytes.
    var isProven = false
    /// Whether the present target had to wait until its host had room, so that it may have expired before it was asked.
    var hasWaited = false
    private var returnCount = 0

    init(origin: URL) {
        self.origin = origin
        current = origin
        trusted = Origin(origin)
    }

    /// The host that the next request goes to.
    var host: String { current.host(percentEncoded: true)?.lowercased() ?? "" }

    /// Goes to another URL from now on; only `trusting` it lets it have credentials that were meant for another origin.
    mutating func replaceOrigin(_ url: URL, trusting: Bool) {
        origin = url
        if trusting { trusted = Origin(url) }
        isProven = false
        reset()
    }

    /// Back to the URL that was asked for.
    mutating func reset() {
        current = origin
        hops = 0
        hasWaited = false
        hasLeftOrigin = Origin(origin) != trusted
    }

    /// Whether `status` may mean that the target of a redirect is not valid any more, after it was.
    func hasExpired(_ status: StatusCode) -> Bool {
        (isProven || hasWaited && returnCount < 3) && current != origin && [401, 403, 404, 410].contains(status.code)
    }

    /// Back to the URL that was asked for, after its target has expired; once until the next has answered.
    mutating func returnToOrigin() {
        if !isProven { returnCount += 1 }
        reset()
        isProven = false
    }

    /// Takes one hop, or says why not.
    mutating func follow(_ location: String?) -> DownloadError? {
        guard hops < Self.maximumHops else {
            return DownloadError(.tooManyRedirects, "more than \(Self.maximumHops)")
        }
        switch Redirect.target(location: location, relativeTo: current) {
        case .failure(let refusal):
            return DownloadError(.redirectRefused, "\(refusal)")
        case .success(let target):
            hops += 1
            // Once credentials were dropped, no later hop brings them back: the server on the way chose the target.
            if Origin(target) != Origin(current) { hasLeftOrigin = true }
            current = target
            return nil
        }
    }

    /// The caller's headers, without secrets once the way has left the origin, and `fields`.
    func headers(_ own: CallerHeaders, adding fields: HeaderFields) -> HeaderFields {
        var headers = hasLeftOrigin ? own.publicFields : own.fields
        // Rule 6: offsets count the bytes of the representation only when nothing is coded.
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
