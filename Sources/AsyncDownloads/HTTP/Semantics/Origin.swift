package import Foundation

/// Whom a URL speaks to (RFC 6454, 4): requests to another origin carry no credentials (rule 11).
package struct Origin: Sendable, Hashable {
    /// `http` or `https`.
    package let scheme: String

    /// The host in lower case: an IDNA-encoded name, or an address, in brackets for IPv6.
    package let host: String

    /// The port; the scheme's own where the URL names none.
    package let port: Int

    /// Fails for a URL that is not http or https, has an impossible port, or has no host or one with escapes.
    ///
    /// A host such as `a%0d%0ab` is legal in a URL, and an engine that decodes it would write it into its request.
    package init?(_ url: URL) {
        guard let components = URLComponents(url: url, resolvingAgainstBaseURL: true),
            let scheme = components.scheme?.asciiLowercased(), let defaultPort = Self.defaultPorts[scheme],
            let host = components.encodedHost, !host.isEmpty, !host.utf8.contains(UInt8(ascii: "%")),
            let port = components.rangeOfPort == nil ? defaultPort : components.port, 1...65_535 ~= port
        else { return nil }
        self.scheme = scheme
        self.host = host.asciiLowercased()
        self.port = port
    }

    /// The ports that a URL need not name, by scheme.
    static let defaultPorts = ["http": 80, "https": 443]
}
