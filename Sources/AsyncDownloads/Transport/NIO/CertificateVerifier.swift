#if ServerStack
internal import Crypto
internal import NIOCore
internal import NIOSSL
internal import NIOTLS

/// The handler behind TLS that ends the connection unless the certificate is the server's.
///
/// NIOSSL verifies the chain of certificates, but not the name: it would also accept a certificate that contains the address of
/// the *peer*. With a proxy, that is the proxy's address; without one, it is an address that the resolver was given. It would also
/// refuse names with an underscore, and wildcards for names that are IDNA-encoded. This handler passes the end of the handshake
/// on only if the certificate is the server's, so that no request is sent before.
final class CertificateVerifier: ChannelInboundHandler {
    typealias InboundIn = NIOAny

    private let server: ServerName
    /// The public keys of which the certificate must have one; nil for any key.
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

    /// Returns whether a certificate contains a name or an address as an alternative name of its subject (RFC 9525, 6).
    ///
    /// The common name isn't read (RFC 9525, 2).
    static func isCertificate(_ certificate: NIOSSLCertificate, of server: ServerName) -> Bool {
        certificate._subjectAlternativeNames().contains { alternative in
            switch server {
            case .address(let bytes): alternative.nameType == .ipAddress && alternative.contents.elementsEqual(bytes)
            case .name(let name):
                alternative.nameType == .dnsName && matches(Array(alternative.contents), Array(name.utf8))
            }
        }
    }

    /// Returns whether a name in a certificate stands for a server; its first label may be an asterisk (RFC 9525, 6.3).
    ///
    /// Bytes are compared, apart from the case of ASCII letters.
    private static func matches(_ pattern: [UInt8], _ name: [UInt8]) -> Bool {
        let pattern = pattern.map(\.asciiLowercased)
        guard pattern.starts(with: "*.".utf8) else { return pattern == name }
        guard let dot = name.firstIndex(of: UInt8(ascii: ".")), dot > 0 else { return false }
        return pattern.dropFirst() == name[dot...]
    }
}
#endif
