#if ServerStack
/// The choice of a proxy for each request.
struct ProxyRules: Sendable {
    private typealias Choice = Result<ProxyServer, DownloadError>

    /// The proxies by the scheme of the request.
    private var servers: [String: Choice] = [:]
    private var exceptions = ProxyExceptions("")

    /// Creates rules from the setting of a downloader.
    ///
    /// - Parameter environment: The variables of the process.
    init(_ choice: ProxyChoice, environment: @autoclosure () -> [String: String]) {
        switch choice.kind {
        case .none: break
        case .environment: use(environment())
        case .server(let address, let exceptions):
            let server = Self.choice(address)
            servers = ["http": server, "https": server]
            self.exceptions = ProxyExceptions(exceptions.joined(separator: ","))
        }
    }

    /// Reads the variables as curl does.
    private mutating func use(_ environment: [String: String]) {
        // A variable without a value counts as one that isn't set.
        func value(of names: String...) -> String? {
            names.lazy.compactMap { environment[$0] }.first { !$0.isEmpty }
        }
        let all = value(of: "all_proxy", "ALL_PROXY")
        // HTTP_PROXY isn't read: in a CGI program, a request's header field Proxy sets it.
        servers["http"] = (value(of: "http_proxy") ?? all).map(Self.choice)
        servers["https"] = (value(of: "https_proxy", "HTTPS_PROXY") ?? all).map(Self.choice)
        exceptions = ProxyExceptions(value(of: "no_proxy", "NO_PROXY") ?? "")
    }

    private static func choice(_ address: String) -> Choice {
        Result { () throws(DownloadError) in try ProxyServer(address) }
    }

    /// Whether one of the proxies is on this machine.
    var includeLocalServer: Bool {
        servers.values.contains { Origin.isLoopback((try? $0.get())?.host ?? "") }
    }

    /// Returns the proxy of requests to an origin; nil for a direct connection.
    ///
    /// - Throws: The error of an unusable address, because a request must not silently bypass a proxy.
    func server(for origin: Origin) throws(DownloadError) -> ProxyServer? {
        guard let choice = servers[origin.scheme], !exceptions.contain(origin.host) else { return nil }
        return try choice.get()
    }
}
#endif
