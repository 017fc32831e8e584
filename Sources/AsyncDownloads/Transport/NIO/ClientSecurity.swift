#if ServerStack
internal import NIOCore
internal import NIOSSL

/// The source of the TLS handlers for a transport's connections.
final class ClientSecurity: Sendable {
    private let settings: SecuritySettings
    private let pins: [ServerName: Set<PublicKeyHash>]
    /// The contexts that connections share; the key is whether the client's certificate is presented.
    private let contexts = Mutex<[Bool: NIOSSLContext]>([:])

    init(_ settings: SecuritySettings) {
        self.settings = settings
        let pins = settings.pinnedPublicKeys.compactMap { host, keys in ServerName(written: host).map { ($0, keys) } }
        self.pins = Dictionary(pins) { $0.intersection($1) }
    }

    var hasIdentity: Bool { settings.clientIdentity != nil }

    /// Creates the contexts of a route's connections if they don't exist.
    ///
    /// The first call takes milliseconds, because it reads the system's certificates. Don't call it on an event loop.
    func prepare(for route: Route) throws {
        if route.origin?.isSecure ?? false { _ = try context(identifies: route.identifies) }
        if route.proxy?.isSecure ?? false { _ = try context(identifies: false) }
    }

    /// Adds the handlers for TLS with a server, or with a proxy, to the end of a pipeline.
    ///
    /// An address isn't sent as the server name, because RFC 6066, 3, doesn't permit it.
    func addHandlers(
        for host: String, identifies: Bool, to pipeline: ChannelPipeline.SynchronousOperations
    ) throws {
        let server = ServerName(host)
        let name: String? = if case .name(let name) = server { name } else { nil }
        let handler = try NIOSSLClientHandler(context: context(identifies: identifies), serverHostname: name)
        try pipeline.addHandler(handler)
        try pipeline.addHandler(CertificateVerifier(server, pins: pins[server], of: handler))
    }

    private func context(identifies: Bool) throws -> NIOSSLContext {
        try contexts.withLock { contexts in
            if let context = contexts[identifies] { return context }
            let context = try NIOSSLContext(configuration: configuration(identifies: identifies))
            contexts[identifies] = context
            return context
        }
    }

    private func configuration(identifies: Bool) -> TLSConfiguration {
        var configuration = TLSConfiguration.makeClientConfiguration()
        // RFC 8996 deprecates TLS 1.0 and 1.1.
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = ["http/1.1"]
        // The name is verified by ``CertificateVerifier``.
        configuration.certificateVerification = .noHostnameVerification
        if let roots = settings.additionalTrustRoots {
            configuration.additionalTrustRoots = [.certificates(roots.certificates)]
        }
        if identifies, let identity = settings.clientIdentity { identity.add(to: &configuration) }
        // A server that is still sending doesn't answer a closing alert, so NIO would keep reading for up to five
        // seconds.
        configuration.shutdownTimeout = .zero
        return configuration
    }
}
#endif
