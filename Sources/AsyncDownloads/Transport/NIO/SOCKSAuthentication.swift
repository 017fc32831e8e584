#if ServerStack
internal import NIOCore

/// The authentication of a client to a SOCKS proxy by a user name and a password (RFC 1929).
///
/// The handler is in front of a SOCKS client that doesn't offer authentication. It replaces the client's greeting with
/// one that also offers a user name and a password. When the proxy has accepted them, it reports to the client
/// that no authentication is required.
final class SOCKSAuthentication: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private enum Phase {
        case greeting, choosingMethod, authenticating
        case done
    }

    private static let version: UInt8 = 5
    private static let subnegotiationVersion: UInt8 = 1
    private static let noAuthentication: UInt8 = 0
    private static let password: UInt8 = 2

    private let credentials: ProxyServer.Credentials
    private var phase = Phase.greeting
    private var received = ByteBuffer()

    init(_ credentials: ProxyServer.Credentials) { self.credentials = credentials }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard case .greeting = phase else { return context.write(data, promise: promise) }
        phase = .choosingMethod
        let greeting = ByteBuffer(bytes: [Self.version, 2, Self.noAuthentication, Self.password])
        context.write(wrapOutboundOut(greeting), promise: promise)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .done = phase { return context.fireChannelRead(data) }
        received.writeImmutableBuffer(unwrapInboundIn(data))
        // Each answer of the proxy has two bytes: a version, and the chosen method or the status.
        while phase != .done, let answer = received.readInteger(as: UInt16.self) {
            switch (phase, UInt8(truncatingIfNeeded: answer)) {
            case (.choosingMethod, Self.password):
                phase = .authenticating
                context.writeAndFlush(wrapOutboundOut(message()), promise: nil)
            case (.choosingMethod, _):
                pass(ByteBuffer(integer: answer), context)
            case (.authenticating, 0):
                pass(ByteBuffer(bytes: [Self.version, Self.noAuthentication]), context)
            default:
                phase = .done
                context.fireErrorCaught(DownloadError(.proxyFailed, "refused the user name and the password"))
                context.close(promise: nil)
            }
        }
    }

    /// Passes an answer and the bytes received after it to the client.
    private func pass(_ answer: ByteBuffer, _ context: ChannelHandlerContext) {
        phase = .done
        context.fireChannelRead(wrapInboundOut(answer))
        if received.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(received)) }
    }

    private func message() -> ByteBuffer {
        var message = ByteBuffer(bytes: [Self.subnegotiationVersion])
        for part in [credentials.user, credentials.password] {
            message.writeInteger(UInt8(part.utf8.count))
            message.writeString(part)
        }
        return message
    }
}
#endif
