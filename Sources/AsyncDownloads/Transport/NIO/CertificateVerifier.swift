#if ServerStack
internal import Crypto
internal import NIOCore
internal import NIOSSL
internal import NIOTLS

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
