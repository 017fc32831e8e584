#if ServerStack
internal import NIOCore
internal import NIOSSL

/// The handlers for TLS of a transport's connections.
final class ClientSecurity: Sendable {
    /// What distinguishes the contexts that connections share.
    private struct Kind: Hashable {
        /// Whether the client's certificate is presented.
        let identifies: Bool
        /// Whether NIOSSL verifies the name of the server, or the address of the peer.
        let verifiesName: Bool
    }

    private let settings: SecuritySettings
    private let pins: [ServerName: Set<PublicKeyHash>]
    private let contexts = Mutex<[Kind: NIOSSLContext]>([:])

    init(_ settings: SecuritySettings) {
        self.settings = settings
        let pins = settings.pinnedPublicKeys.compactMap { host, keys in ServerName(written: host).map { ($0, keys) } }
        self.pins = Dictionary(pins) { $0.intersection($1) }
    }

    var hasIdentity: Bool { settings.clientIdentity != nil }

    /// Creates the contexts of a route's connections if they don't exist.
    ///
    /// The first call takes milliseconds, because it reads the certificates of the system, so it isn't made on an event loop.
    func prepare(for route: Route) throws {
        for kind in [Self.serverKind(of: route), Self.proxyKind(of: route)] {
            if let kind { _ = try context(kind) }
        }
    }

    /// Adds the handlers for TLS with the server of a route, to the end of a pipeline.
    func addServerHandlers(for route: Route, to pipeline: ChannelPipeline.SynchronousOperations) throws {
        guard let origin = route.origin, let kind = Self.serverKind(of: route) else { return }
        try addHandlers(for: ServerName(origin.host), kind, to: pipeline)
    }

    /// Adds the handlers for TLS with the proxy of a route, to the end of a pipeline.
    func addProxyHandlers(for route: Route, to pipeline: ChannelPipeline.SynchronousOperations) throws {
        guard let proxy = route.proxy, let kind = Self.proxyKind(of: route) else { return }
        try addHandlers(for: ServerName(proxy.host), kind, to: pipeline)
    }

    private static func serverKind(of route: Route) -> Kind? {
        guard let origin = route.origin, origin.isSecure else { return nil }
        // NIOSSL can't be given an address other than the peer's.
        let isBehindProxy = route.proxy != nil
        let verifiesName = if case .address = ServerName(origin.host) { !isBehindProxy } else { true }
        return Kind(identifies: route.identifies, verifiesName: verifiesName)
    }

    private static func proxyKind(of route: Route) -> Kind? {
        route.proxy?.isSecure ?? false ? Kind(identifies: false, verifiesName: true) : nil
    }

    /// RFC 6066, 3, doesn't permit addresses as server names; NIOSSL verifies certificates for the peer's address then.
    private func addHandlers(
        for server: ServerName, _ kind: Kind, to pipeline: ChannelPipeline.SynchronousOperations
    ) throws {
        let name: String? = if case .name(let name) = server { name } else { nil }
        let handler = try NIOSSLClientHandler(context: context(kind), serverHostname: name)
        try pipeline.addHandler(handler)
        try pipeline.addHandler(CertificateVerifier(server, pins: pins[server], of: handler))
    }

    private func context(_ kind: Kind) throws -> NIOSSLContext {
        try contexts.withLock { contexts in
            if let context = contexts[kind] { return context }
            let context = try NIOSSLContext(configuration: configuration(kind))
            contexts[kind] = context
            return context
        }
    }

    private func configuration(_ kind: Kind) -> TLSConfiguration {
        var configuration = TLSConfiguration.makeClientConfiguration()
        // RFC 8996 deprecates TLS 1.0 and 1.1.
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = ["http/1.1"]
        if !kind.verifiesName { configuration.certificateVerification = .noHostnameVerification }
        if let roots = settings.additionalTrustRoots {
            configuration.additionalTrustRoots = [.certificates(roots.certificates)]
        }
        if kind.identifies, let identity = settings.clientIdentity { identity.add(to: &configuration) }
        // A server that is still sending doesn't answer a closing alert, so NIO would keep reading for up to five seconds.
        configuration.shutdownTimeout = .zero
        return configuration
    }
}
#endif
