#if ServerStack
internal import Crypto
internal import NIOCore
internal import NIOSSL
internal import NIOTLS

/// The handler behind TLS that ends the connection unless the certificate is the server's.
///
/// NIOSSL verifies the chain of certificates, and that the certificate names the server or *the address of the peer*. With a
/// proxy, that is the proxy's address; without one, it is an address that the resolver was given. Therefore this handler requires
/// the server's own name or address. It passes the end of the handshake on only then, so that no request is sent before.
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
    /// A certificate without alternative names is verified by NIOSSL alone, by the common name.
    static func isCertificate(_ certificate: NIOSSLCertificate, of server: ServerName) -> Bool {
        let names = certificate._subjectAlternativeNames()
        switch server {
        case .address(let bytes):
            return names.contains { $0.nameType == .ipAddress && $0.contents.elementsEqual(bytes) }
        case .name(let name):
            if names.isEmpty { return true }
            return names.contains { $0.nameType == .dnsName && matches($0.contents, name) }
        }
    }

    /// Returns whether a name in a certificate stands for a server; its first label may be an asterisk (RFC 9525, 6.3).
    private static func matches(_ pattern: some Collection<UInt8>, _ name: String) -> Bool {
        let pattern = String(decoding: pattern, as: UTF8.self).lowercased()
        guard pattern.hasPrefix("*.") else { return pattern == name }
        guard let dot = name.firstIndex(of: "."), dot > name.startIndex else { return false }
        return pattern.dropFirst() == name[dot...]
    }
}
#endif
