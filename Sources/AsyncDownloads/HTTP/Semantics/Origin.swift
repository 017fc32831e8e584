package import Foundation

/// The scheme, host, and port of a URL (RFC 6454, 4): requests to another origin contain no credentials (rule 11).
package struct Origin: Sendable, Hashable {
    /// The scheme in lower case: `http` or `https`.
    package let scheme: String

    /// The host in lower case: an IDNA-encoded name or an address; an IPv6 address is in brackets.
    package let host: String

    /// The port of the URL, or the default port of the scheme if the URL doesn't contain one.
    package let port: Int

    /// Creates the origin of a URL; `nil` if the scheme isn't http or https, or if the host or the port is unusable.
    ///
    /// A host with percent escapes is rejected: `a%0d%0ab` is legal in a URL, and an engine that decodes it would write
    /// the line break into its request. The port must be from 1 to 65535.
    package init?(_ url: URL) {
        if let (scheme, host, port) = url.originInNormalForm {
            (self.scheme, self.host, self.port) = (scheme, host, port)
            return
        }
        guard let components = URLComponents(url: url, resolvingAgainstBaseURL: true),
            let scheme = components.scheme?.asciiLowercased(), let defaultPort = Self.defaultPorts[scheme],
            let host = components.encodedHost, !host.isEmpty, !host.utf8.contains(UInt8(ascii: "%")),
            let port = components.rangeOfPort == nil ? defaultPort : components.port, 1...65_535 ~= port
        else { return nil }
        self.scheme = scheme
        self.host = host.asciiLowercased()
        self.port = port
    }

    /// Creates an origin from a text such as `https://cdn.example.com` or `https://cdn.example.com:8443`.
    ///
    /// The result is nil if the text contains anything else, except a slash at the end.
    init?(text: String) {
        guard let url = URL(strict: text), url.user == nil, url.password == nil, url.query == nil, url.fragment == nil,
            url.path(percentEncoded: true).isEmpty || url.path(percentEncoded: true) == "/"
        else { return nil }
        self.init(url)
    }

    /// Whether the scheme is https.
    var isSecure: Bool { scheme == "https" }

    /// The host, without the brackets of an IPv6 address.
    var hostWithoutBrackets: String { host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host }

    /// Whether requests to the origin stay on this machine.
    var isLoopback: Bool { Self.isLoopback(hostWithoutBrackets) }

    /// Returns whether a name or an address without brackets refers to this machine (RFC 6761, 6.3; RFC 6890).
    static func isLoopback(_ host: String) -> Bool {
        let host = host.asciiLowercased()
        if host == "localhost" || host.hasSuffix(".localhost") || host == "::1" { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }

    /// The default port of each scheme.
    static let defaultPorts = ["http": 80, "https": 443]
}

/// A request's target origin and its originally requested origin, which differ after a redirect to another origin.
///
/// A refusal after such a redirect says nothing about direct requests to the same origin, because any server can
/// redirect there. The hosts' limits on transfers and requests apply to both.
struct OriginPair: Sendable, Hashable {
    private struct Origins: Sendable, Hashable {
        let requested: Origin?
        let target: Origin?
    }

    /// Stored in one allocation, because the state of every transfer contains the pair several times.
    private let origins: CopyOnWrite<Origins>

    /// - Parameters:
    ///   - requested: The URL before redirects.
    ///   - target: The URL that the request goes to.
    init(requested: URL, target: URL) {
        let origin = Origin(requested)
        origins = CopyOnWrite(Origins(requested: origin, target: target == requested ? origin : Origin(target)))
    }

    /// Creates the pair of a direct request.
    init(_ url: URL) {
        self.init(requested: url, target: url)
    }

    /// The origin that the request goes to; nil if its URL has no origin, in which case the request will fail.
    var target: Origin? { origins.value.target }

    /// Whether no redirect has led to another origin.
    var isDirect: Bool { origins.value.requested == origins.value.target }

    /// The host that the request goes to.
    var host: String { target?.host ?? "" }

    /// The host that was requested.
    var requestedHost: String { origins.value.requested?.host ?? "" }
}
