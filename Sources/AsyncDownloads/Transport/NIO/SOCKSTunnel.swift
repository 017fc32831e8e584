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
#endif
