internal import Foundation

/// A proxy, by the address that the user specified.
struct ProxyServer: Sendable, Hashable {
    enum Kind: Sendable, Hashable {
        /// An HTTP proxy, to which the connection uses TLS if it is secure.
        case http(isSecure: Bool)
        /// SOCKS version 5 (RFC 1928), which resolves the names of servers.
        case socks
    }

    struct Credentials: Sendable, Hashable {
        let user: String
        let password: String

        /// The value of Proxy-Authorization (RFC 7617, 2).
        var basic: String { "Basic " + Data("\(user):\(password)".utf8).base64EncodedString() }

        /// Whether each part has a length that SOCKS permits (RFC 1929, 2).
        ///
        /// curl and others permit an empty password.
        var fitSOCKS: Bool { 1...255 ~= user.utf8.count && password.utf8.count <= 255 }
    }

    let kind: Kind
    /// A name or an address; an IPv6 address is without brackets.
    let host: String
    let port: Int
    let credentials: Credentials?

    /// Whether the connection to the proxy uses TLS.
    var isSecure: Bool { kind == .http(isSecure: true) }

    /// The port of an address without one, as in curl; with https, it is 443.
    private static let defaultPort = 1080

    /// Creates a proxy from an address such as `http://user:password@proxy.example:3128`.
    ///
    /// As in curl, a missing scheme means http; a path, a query, and a fragment are ignored. The user name and the
    /// password may contain percent escapes. The password ends at the last `@`.
    ///
    /// - Throws: ``DownloadError/Code/unsupported`` for schemes other than http, https, socks5, and socks5h, and
    ///   ``DownloadError/Code/invalidRequest`` for an address that isn't valid.
    init(_ address: String) throws(DownloadError) {
        let scheme: String
        let rest: Substring
        if let separator = address.firstRange(of: "://") {
            scheme = address[..<separator.lowerBound].lowercased()
            rest = address[separator.upperBound...]
        } else {
            scheme = "http"
            rest = address[...]
        }
        switch scheme {
        case "http": kind = .http(isSecure: false)
        case "https": kind = .http(isSecure: true)
        case "socks5", "socks5h": kind = .socks
        default: throw DownloadError(.unsupported, "proxies with other schemes than http, https, and socks5")
        }
        let authority = rest.prefix { !"/?#".contains($0) }
        let at = authority.lastIndex(of: "@")
        credentials = try at.map { index throws(DownloadError) in try Self.credentials(authority[..<index]) }
        let server = at.map { authority[authority.index(after: $0)...] } ?? authority
        if case .socks = kind, let credentials, !credentials.fitSOCKS { throw Self.invalid }
        (host, port) = try Self.hostAndPort(of: server, defaultPort: scheme == "https" ? 443 : Self.defaultPort)
    }

    private static let invalid = DownloadError(.invalidRequest, "the address of the proxy isn't valid")

    private static func credentials(_ text: Substring) throws(DownloadError) -> Credentials {
        let colon = text.firstIndex(of: ":") ?? text.endIndex
        guard let user = String(text[..<colon]).removingPercentEncoding,
            let password = String(text[colon...].dropFirst()).removingPercentEncoding
        else { throw invalid }
        return Credentials(user: user, password: password)
    }

    private static func hostAndPort(of text: Substring, defaultPort: Int) throws(DownloadError) -> (String, Int) {
        let host: Substring
        let rest: Substring
        if text.hasPrefix("["), let bracket = text.firstIndex(of: "]") {
            host = text[..<bracket].dropFirst()
            rest = text[bracket...].dropFirst()
        } else {
            host = text.prefix { $0 != ":" }
            rest = text[host.endIndex...]
        }
        guard !host.isEmpty, host.utf8.allSatisfy({ 0x21...0x7E ~= $0 && $0 != UInt8(ascii: "%") }) else {
            throw invalid
        }
        if rest.isEmpty || rest == ":" { return (host.lowercased(), defaultPort) }
        guard rest.hasPrefix(":"), let port = UInt16(rest.dropFirst()), port > 0 else { throw invalid }
        return (host.lowercased(), Int(port))
    }
}

extension ProxyServer: CustomStringConvertible, CustomReflectable {
    /// The host and the port, without the credentials.
    var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

    var customMirror: Mirror { .opaque(self) }
}
