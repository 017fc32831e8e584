public import struct Foundation.URL

/// A redirect that is passed to ``DownloadRequest/shouldFollowRedirect``.
public struct RedirectProposal: Sendable, Hashable {
    /// The URL that responded with the redirect.
    public var source: URL

    /// The URL to which the redirect leads, without a fragment.
    public var target: URL

    /// The status code of the redirect: 301, 302, 303, 307, or 308.
    public var statusCode: Int

    /// Creates a value with the given properties.
    public init(from source: URL, to target: URL, statusCode: Int) {
        self.source = source
        self.target = target
        self.statusCode = statusCode
    }
}

extension RedirectProposal: CustomStringConvertible {
    /// A description that is fit for a log: the status code, and the URLs without secrets.
    public var description: String { "\(statusCode) from \(source.redacted) to \(target.redacted)" }
}

extension RedirectProposal: CustomReflectable {
    /// A mirror without children, because the URLs may contain secrets; see ``description``.
    public var customMirror: Mirror { .opaque(self) }
}
