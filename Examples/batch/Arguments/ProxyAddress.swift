internal import AsyncDownloads
internal import Foundation

/// The value of `--proxy`: the address of a proxy, or `none`.
struct ProxyAddress: Sendable, Equatable {
    private static let schemes = ["http", "https", "socks5", "socks5h"]

    /// The address; nil for no proxy.
    let url: URL?

    /// Reads an address, in which the scheme may be missing, as in curl.
    init(_ text: String) throws(Misuse) {
        if text == "none" {
            url = nil
            return
        }
        guard let url = URL(string: text.contains("://") ? text : "http://\(text)"),
            let scheme = url.scheme?.lowercased(),
            Self.schemes.contains(scheme), let host = url.host(), !host.isEmpty
        else { throw Misuse("a proxy is SCHEME://HOST:PORT with the scheme http, https, or socks5; or none") }
        self.url = url
    }

    /// The value for the library; the hosts of `no_proxy` in the environment are requested without the proxy.
    func choice(environment: [String: String]) -> ProxyChoice {
        guard let url else { return .none }
        let exceptions = ["no_proxy", "NO_PROXY"].compactMap { environment[$0] }.first { !$0.isEmpty }
        return .server(url, except: exceptions.map { [$0] } ?? [])
    }
}
