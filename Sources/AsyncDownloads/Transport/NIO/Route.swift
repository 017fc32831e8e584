#if ServerStack
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
