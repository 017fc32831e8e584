public import struct Foundation.URL

/// The circumstances in which ``DownloadRequest/authorize`` is called.
public struct AuthorizationRequest: Sendable, Hashable {
    /// The reason why header fields are needed.
    public enum Reason: Sendable, Hashable {
        /// An attempt of the download begins.
        case request
        /// The server rejected the fields of this attempt with this status code, which is 401.
        case status(Int)
    }

    /// The URL to request or, after a refusal, the URL that was refused.
    public var url: URL

    /// The reason why header fields are needed.
    public var reason: Reason

    /// The values of `WWW-Authenticate` in the refusal (RFC 9110, 11.6.1); empty without a refusal.
    public var challenges: [String]

    /// The number of the attempt, counted from 1 in each process; the request after a refusal belongs to the same
    /// attempt.
    public var attempt: Int

    /// Creates a value with the given properties.
    public init(url: URL, reason: Reason = .request, challenges: [String] = [], attempt: Int = 1) {
        self.url = url
        self.reason = reason
        self.challenges = challenges
        self.attempt = attempt
    }
}

extension AuthorizationRequest: CustomStringConvertible {
    /// A description that is fit for a log: the URL without secrets, the reason, and the number of the attempt.
    public var description: String { "\(url.redacted), \(reason), attempt \(attempt)" }
}

extension AuthorizationRequest: CustomReflectable {
    /// A mirror without children, because the URL may contain secrets; see ``description``.
    public var customMirror: Mirror { .opaque(self) }
}
