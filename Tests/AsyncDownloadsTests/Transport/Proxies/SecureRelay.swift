#if ServerStack
import LoopbackServer
import NIOCore
import NIOPosix
import NIOSSL

/// A server with TLS that passes what it decrypts to a port of 127.0.0.1, and the answers back.
///
/// In front of a ``LoopbackProxy``, it is a proxy with the scheme https. It has the certificate of ``LoopbackServer``.
final class SecureRelay: Sendable {
    let port: Int
    private let channel: any Channel

    init(to target: Int) async throws {
        let certificate = try NIOSSLCertificate(bytes: Array(Certificate.server.utf8), format: .pem)
        let key = try NIOSSLPrivateKey(bytes: Array(Certificate.key.utf8), format: .pem)
        let security = try NIOSSLContext(
            configuration: .makeServerConfiguration(
                certificateChain: [.certificate(certificate)], privateKey: .privateKey(key)))
        channel = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .childChannelOption(.autoRead, value: false)
            .childChannelInitializer { client in
                client.eventLoop.makeCompletedFuture {
                    try client.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: security))
                }.flatMap {
                    ClientBootstrap(group: client.eventLoop).channelOption(.autoRead, value: false)
                        .connect(host: "127.0.0.1", port: target)
                }.flatMapThrowing { server in
                    try client.pipeline.syncOperations.addHandler(Forwarder(to: server))
                    try server.pipeline.syncOperations.addHandler(Forwarder(to: client))
                    for channel in [client, server] { try channel.syncOptions?.setOption(.autoRead, value: true) }
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        port = channel.localAddress?.port ?? 0
    }

    func stop() { channel.close(promise: nil) }
}

/// Passes the bytes of one channel, and its end, to another one.
private final class Forwarder: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let other: any Channel

    init(to other: any Channel) { self.other = other }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        other.writeAndFlush(unwrapInboundIn(data), promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        other.close(promise: nil)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
#endif
