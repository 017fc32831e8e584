#if ServerStack
internal import NIOCore
internal import NIOSOCKS

/// A handler that requests a tunnel from a SOCKS proxy (RFC 1928).
///
/// NIOSOCKS implements the protocol without user names and passwords, which ``SOCKSAuthentication`` adds in front of
/// it. This handler, behind both, observes the result, and removes all three when the tunnel is open.
final class SOCKSTunnel: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer

    private let client: SOCKSClientHandler
    private let authentication: SOCKSAuthentication?
    private var completion: ((Result<Void, any Error>) -> Void)?

    /// Creates a handler that requests one tunnel.
    ///
    /// - Parameters:
    ///   - origin: The server to which the tunnel leads.
    ///   - proxy: The proxy, whose credentials are sent.
    ///   - completion: A closure that is called once, when the tunnel is open or can't be opened.
    /// - Throws: ``DownloadError/Code/invalidRequest`` if the name of the server is too long for the protocol.
    init(
        to origin: Origin, through proxy: ProxyServer, completion: @escaping (Result<Void, any Error>) -> Void
    ) throws {
        let host = origin.hostWithoutBrackets
        let target: SOCKSAddress
        if let address = try? SocketAddress(ipAddress: host, port: origin.port) {
            target = .address(address)
        } else {
            guard host.utf8.count <= 255 else {
                throw DownloadError(.invalidRequest, "the name of the host is too long")
            }
            target = .domain(host, port: origin.port)
        }
        client = SOCKSClientHandler(targetAddress: target)
        authentication = proxy.credentials.map(SOCKSAuthentication.init)
        self.completion = completion
    }

    /// Adds the handlers to the end of a pipeline.
    func add(to pipeline: ChannelPipeline.SynchronousOperations) throws {
        if let authentication { try pipeline.addHandler(authentication) }
        // The client is added last, because it begins when it is added.
        try pipeline.addHandler(self)
        try pipeline.addHandler(client, position: .before(self))
    }

    func handlerRemoved(context: ChannelHandlerContext) { finish(.failure(ChannelError.eof)) }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard event is SOCKSProxyEstablishedEvent else { return context.fireUserInboundEventTriggered(event) }
        let pipeline = context.pipeline.syncOperations
        let completion = completion.take()
        let handlers: [any RemovableChannelHandler] = [client, self] + (authentication.map { [$0] } ?? [])
        EventLoopFuture.andAllSucceed(handlers.map { pipeline.removeHandler($0) }, on: pipeline.eventLoop)
            .assumeIsolated()
            .whenComplete { completion?($0) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { finish(.failure(error)) }

    func channelInactive(context: ChannelHandlerContext) {
        finish(.failure(ChannelError.eof))
        context.fireChannelInactive()
    }

    private func finish(_ result: Result<Void, any Error>) { completion.take()?(result) }
}

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
