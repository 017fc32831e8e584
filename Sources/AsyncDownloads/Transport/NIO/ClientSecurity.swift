#if ServerStack
internal import Crypto
internal import NIOCore
internal import NIOSSL
internal import NIOTLS

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
        configuration.trust(settings.additionalTrustRoots)
        if identifies, let identity = settings.clientIdentity { identity.add(to: &configuration) }
        // A server that is still sending doesn't answer a closing alert, so NIO would keep reading for up to five
        // seconds.
        configuration.shutdownTimeout = .zero
        return configuration
    }
}

/// A handler behind TLS that closes the connection unless the certificate belongs to the server.
///
/// NIOSSL is configured to verify the chain of certificates, but not the name, because it would also accept a
/// certificate that contains the *peer's* address: the proxy's address if the connection has a proxy, or otherwise an
/// address from the resolver. It would also refuse names with an underscore, and wildcards for IDNA-encoded names. This
/// handler passes on the end of the handshake only if the certificate belongs to the server, so that no request is sent
/// before this check.
final class CertificateVerifier: ChannelInboundHandler {
    typealias InboundIn = NIOAny

    private let server: ServerName
    /// The accepted public keys; nil for any key.
    private let pins: Set<PublicKeyHash>?
    private let security: NIOSSLClientHandler

    init(_ server: ServerName, pins: Set<PublicKeyHash>?, of security: NIOSSLClientHandler) {
        self.server = server
        self.pins = pins
        self.security = security
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted? = event as? TLSUserEvent, let problem = problem(of: security.peerCertificate) {
            context.fireErrorCaught(DownloadError(.secureConnectionFailed, problem))
            context.close(promise: nil)
        } else {
            context.fireUserInboundEventTriggered(event)
        }
    }

    private func problem(of certificate: NIOSSLCertificate?) -> String? {
        guard let certificate, Self.isCertificate(certificate, of: server) else {
            return "the certificate isn't that of the server"
        }
        guard let pins else { return nil }
        let key = try? certificate.extractPublicKey().toSPKIBytes()
        let isExpected = key.map { pins.contains(PublicKeyHash(SHA256.hash(data: $0))) } ?? false
        return isExpected ? nil : "the public key of the server's certificate isn't an expected one"
    }

    /// Returns whether one of a certificate's subject alternative names identifies a server (RFC 9525, 6).
    ///
    /// The common name is ignored (RFC 9525, 2).
    static func isCertificate(_ certificate: NIOSSLCertificate, of server: ServerName) -> Bool {
        certificate._subjectAlternativeNames().contains { alternative in
            switch server {
            case .address(let bytes): alternative.nameType == .ipAddress && alternative.contents.elementsEqual(bytes)
            case .name(let name):
                alternative.nameType == .dnsName && matches(Array(alternative.contents), Array(name.utf8))
            }
        }
    }

    /// Returns whether a name in a certificate matches a server's name (RFC 9525, 6.3).
    ///
    /// The first label of the certificate's name may be an asterisk. Bytes are compared; the case of ASCII letters in
    /// the certificate's name is ignored.
    private static func matches(_ pattern: [UInt8], _ name: [UInt8]) -> Bool {
        let pattern = pattern.map(\.asciiLowercased)
        guard pattern.starts(with: "*.".utf8) else { return pattern == name }
        guard let dot = name.firstIndex(of: UInt8(ascii: ".")), dot > 0 else { return false }
        return pattern.dropFirst() == name[dot...]
    }
}
#endif
