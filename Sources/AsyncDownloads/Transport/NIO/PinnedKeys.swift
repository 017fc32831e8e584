#if ServerStack
internal import Crypto
internal import NIOCore
internal import NIOSSL
internal import NIOTLS

/// The handler behind TLS that ends the connection unless the server's certificate has one of the expected public keys.
///
/// It doesn't pass on the end of the handshake before, so that no request is sent.
final class PinnedKeys: ChannelInboundHandler {
    typealias InboundIn = NIOAny

    private let hashes: Set<PublicKeyHash>
    private let security: NIOSSLClientHandler

    init(_ hashes: Set<PublicKeyHash>, of security: NIOSSLClientHandler) {
        self.hashes = hashes
        self.security = security
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted? = event as? TLSUserEvent, !isExpected(security.peerCertificate) {
            context.fireErrorCaught(
                DownloadError(
                    .secureConnectionFailed, "the public key of the server's certificate isn't an expected one"))
            context.close(promise: nil)
        } else {
            context.fireUserInboundEventTriggered(event)
        }
    }

    private func isExpected(_ certificate: NIOSSLCertificate?) -> Bool {
        guard let key = try? certificate?.extractPublicKey().toSPKIBytes() else { return false }
        return hashes.contains(PublicKeyHash(SHA256.hash(data: key)))
    }
}
#endif
