#if ServerStack
internal import Foundation
internal import NIOHTTP1

/// A request as it is sent, and the route to its server.
struct WireRequest: Sendable {
    let origin: Origin
    let route: Route
    let head: HTTPRequestHead

    /// Creates the request, with a Host field (RFC 9112, 3.2).
    ///
    /// The request target is in origin form (RFC 9112, 3.2.1), or in absolute form (3.2.2) for a proxy that forwards
    /// the request. For such a proxy, the request also contains the proxy's credentials.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - proxies: The rules that choose a proxy.
    ///   - hasIdentity: Whether the transport has a client certificate.
    /// - Throws: ``DownloadError/Code/invalidRequest`` if the URL isn't an http or https URL, or contains bytes that
    ///   would end the request line; or the error for an invalid proxy address.
    init(_ request: ExchangeRequest, proxies: ProxyRules, hasIdentity: Bool) throws(DownloadError) {
        guard let origin = Origin(request.url), let target = Self.target(of: request.url) else {
            throw DownloadError(.invalidRequest, "not a valid URL")
        }
        self.origin = origin
        route = Route(
            to: origin, through: try proxies.server(for: origin),
            identifies: hasIdentity && request.sendsCredentials)
        var headers = HTTPHeaders()
        headers.reserveCapacity(request.headers.count + 1)
        headers.add(name: "Host", value: origin.authority)
        for (name, value) in request.headers { headers.add(name: name, value: value) }
        var uri = target
        if case .forwarded(let proxy) = route {
            uri = "http://" + origin.authority + target
            if let credentials = proxy.credentials {
                headers.replaceOrAdd(name: "Proxy-Authorization", value: credentials.basic)
            }
        }
        head = HTTPRequestHead(
            version: .http1_1, method: .init(rawValue: request.method.rawValue), uri: uri, headers: headers)
    }

    /// Returns the path and the query of an absolute URL, as they are written in it.
    private static func target(of url: URL) -> String? {
        var text = url.absoluteString
        return text.withUTF8 { bytes in
            guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else { return nil }
            let rest = bytes[colon...].dropFirst("://".utf8.count)
            let start = rest.firstIndex { "/?#".utf8.contains($0) }
            let target = rest[(start ?? rest.endIndex)...].prefix { $0 != UInt8(ascii: "#") }
            guard target.allSatisfy({ 0x21...0x7E ~= $0 }) else { return nil }
            let path = String(decoding: target, as: UTF8.self)
            return target.first == UInt8(ascii: "/") ? path : "/" + path
        }
    }
}

extension Origin {
    /// The host, and the port unless it is the default port of the scheme.
    var authority: String { port == Self.defaultPorts[scheme] ? host : "\(host):\(port)" }
}

/// The path of connections to the server of a request; a connection serves only requests with the same route.
///
/// `identifies` determines whether the client's certificate is presented if the server requests one.
enum Route: Sendable, Hashable {
    /// A connection to the server without a proxy.
    case direct(Origin, identifies: Bool)
    /// A connection to an HTTP proxy, which forwards requests in absolute form to any http origin.
    case forwarded(by: ProxyServer)
    /// A connection through a tunnel that a proxy opens.
    case tunneled(to: Origin, identifies: Bool, through: ProxyServer)

    /// Creates the route of a request.
    init(to origin: Origin, through proxy: ProxyServer?, identifies: Bool) {
        let identifies = identifies && origin.isSecure
        if let proxy {
            let isForwarded = !origin.isSecure && proxy.kind != .socks
            self = isForwarded ? .forwarded(by: proxy) : .tunneled(to: origin, identifies: identifies, through: proxy)
        } else {
            self = .direct(origin, identifies: identifies)
        }
    }

    var proxy: ProxyServer? {
        switch self {
        case .direct: nil
        case .forwarded(let proxy), .tunneled(_, _, let proxy): proxy
        }
    }

    /// The server with which TLS is established and from which responses come; nil for a proxy that forwards requests.
    var origin: Origin? {
        switch self {
        case .direct(let origin, _), .tunneled(let origin, _, _): origin
        case .forwarded: nil
        }
    }

    var identifies: Bool {
        switch self {
        case .direct(_, let identifies), .tunneled(_, let identifies, _): identifies
        case .forwarded: false
        }
    }

    /// The host name or address, and the port, of the TCP connection.
    var endpoint: (host: String, port: Int) {
        switch self {
        case .direct(let origin, _): (origin.hostWithoutBrackets, origin.port)
        case .forwarded(let proxy), .tunneled(_, _, let proxy): (proxy.host, proxy.port)
        }
    }

    /// Whether requests and responses are encrypted, to the server or to the proxy that forwards them.
    var isSecure: Bool { origin?.isSecure ?? proxy?.isSecure ?? false }
}
#endif
