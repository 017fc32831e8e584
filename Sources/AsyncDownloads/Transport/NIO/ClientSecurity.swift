#if ServerStack
internal import NIOCore
internal import NIOSSL

/// The handlers for TLS of a transport's connections.
final class ClientSecurity: Sendable {
    private let settings: SecuritySettings
    /// The keys by host, without the brackets of an address and the dot at the end of a name.
    private let pins: [String: Set<PublicKeyHash>]
    /// The contexts that connections share, by whether they contain the client's certificate.
    private let contexts = Mutex<[Bool: NIOSSLContext]>([:])

    init(_ settings: SecuritySettings) {
        self.settings = settings
        pins = Dictionary(settings.pinnedPublicKeys.map { (Self.serverName(of: $0.lowercased()), $1) }) {
            $0.intersection($1)
        }
    }

    var hasIdentity: Bool { settings.clientIdentity != nil }

    /// Creates the context of a route's connections if it doesn't exist.
    ///
    /// The first call takes milliseconds, because it reads the certificates of the system, so it isn't made on an event loop.
    func prepare(for route: Route) throws {
        if route.origin?.isSecure ?? false { _ = try context(identifies: route.identifies) }
        if route.proxy?.isSecure ?? false { _ = try context(identifies: false) }
    }

    /// Adds the handlers of a connection to a server, a name or an address, to the end of a pipeline.
    ///
    /// NIOSSL verifies certificates for the peer's address if it is given no name. RFC 6066, 3, doesn't permit addresses as names.
    func addHandlers(
        for host: String, identifies: Bool, to pipeline: ChannelPipeline.SynchronousOperations
    ) throws {
        let host = Self.serverName(of: host)
        let isAddress = (try? SocketAddress(ipAddress: host, port: 0)) != nil
        let handler = try NIOSSLClientHandler(
            context: context(identifies: identifies), serverHostname: isAddress ? nil : host)
        try pipeline.addHandler(handler)
        if let pins = pins[host] { try pipeline.addHandler(PinnedKeys(pins, of: handler)) }
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
        if let roots = settings.additionalTrustRoots {
            configuration.additionalTrustRoots = [.certificates(roots.certificates)]
        }
        if identifies, let identity = settings.clientIdentity { identity.add(to: &configuration) }
        // A server that is still sending doesn't answer a closing alert, so NIO would keep reading for up to five seconds.
        configuration.shutdownTimeout = .zero
        return configuration
    }

    /// Returns a host without the brackets of an address, and without the dot at the end of a name, which the extension for
    /// server names doesn't permit (RFC 6066, 3).
    static func serverName(of host: String) -> String {
        if host.hasPrefix("[") { return String(host.dropFirst().dropLast()) }
        return host.hasSuffix(".") ? String(host.dropLast()) : host
    }
}
#endif
