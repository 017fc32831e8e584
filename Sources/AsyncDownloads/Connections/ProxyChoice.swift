public import struct Foundation.URL

/// The proxy through which requests are sent.
///
/// ```swift
/// configuration.proxy = .server(URL(string: "socks5://127.0.0.1:1080")!)
/// ```
///
/// An HTTP proxy receives requests for http URLs in absolute form (RFC 9112, 3.2.2), and opens a tunnel for https URLs
/// (CONNECT; RFC 9110, 9.3.6). A SOCKS proxy (RFC 1928) opens a tunnel for both, and resolves the names of the servers.
/// The names of the proxies themselves are resolved by this process.
///
/// If the proxy refuses the tunnel, the download fails with ``DownloadError/Code/proxyFailed``. If a proxy can't be
/// reached, no direct connection is made.
///
/// Only ``Downloader/TransportChoice/nio`` uses this setting. URLSession uses the system's settings on Apple platforms,
/// and reads the variables of the environment on Linux. With another engine or a background session, every request of a
/// downloader with ``none`` or ``server(_:except:)`` fails with ``DownloadError/Code/unsupported``.
public struct ProxyChoice: Sendable, Hashable {
    enum Kind: Sendable, Hashable {
        case environment
        case none
        case server(String, exceptions: [String])
    }

    let kind: Kind

    /// The proxies in the environment variables.
    ///
    /// The variables have the same meaning as for curl, except that a SOCKS proxy always resolves the names of servers.
    /// `http_proxy` (only in lowercase) and `https_proxy` are the proxies for the schemes, and `all_proxy` is the proxy
    /// for both. `no_proxy` lists hosts that are requested without a proxy; see ``server(_:except:)``. A value without
    /// a scheme is the address of an HTTP proxy. The variables are read when the downloader is created.
    public static let environment = Self(kind: .environment)

    /// No proxy, whatever the environment contains.
    public static let none = Self(kind: .none)

    /// One proxy for all requests, whatever the environment contains.
    ///
    /// The schemes are `http`, `https` (an HTTP proxy, to which the connection uses TLS), `socks5`, and `socks5h`. The
    /// default port is 443 for `https`, and otherwise 1080. A user name and a password in the URL are sent only to the
    /// proxy, as Basic credentials (RFC 7617) or with the SOCKS authentication of RFC 1929. If the URL isn't valid,
    /// every request that needs the proxy fails with ``DownloadError/Code/invalidRequest``.
    ///
    /// - Parameters:
    ///   - url: The address of the proxy.
    ///   - exceptions: Hosts that are requested without the proxy: names, which include all names below them;
    ///     addresses; networks, such as `10.0.0.0/8`; or `*` as the only element, for all hosts.
    public static func server(_ url: URL, except exceptions: [String] = []) -> Self {
        Self(kind: .server(url.absoluteString, exceptions: exceptions))
    }
}

extension ProxyChoice: CustomStringConvertible, CustomReflectable {
    /// The kind of the choice, with the proxy's host and port; never its credentials.
    public var description: String {
        switch kind {
        case .environment: "environment"
        case .none: "none"
        case .server(let address, _): (try? ProxyServer(address)).map { "\($0)" } ?? "invalid"
        }
    }

    /// A mirror without children, because the address may contain a password; see ``description``.
    public var customMirror: Mirror { .opaque(self) }
}
