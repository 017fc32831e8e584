#if ServerStack
internal import NIOCore
internal import NIOHTTP1
internal import NIOTLS

/// A handler that requests a tunnel from an HTTP proxy (CONNECT; RFC 9110, 9.3.6).
///
/// It removes itself, its encoder, and its parser when the tunnel is open. NIOExtras has a similar handler, which
/// doesn't report the proxy's status code.
final class HTTPTunnel: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundOut = HTTPClientRequestPart

    private let head: HTTPRequestHead
    private let encoder = HTTPRequestEncoder()
    // Interim responses are forwarded so that they can be counted.
    private let parser = ByteToMessageHandler(HTTPResponseDecoder(informationalResponseStrategy: .forward))
    /// Whether the handler has to wait for the TLS handshake with the proxy.
    private let isSecure: Bool
    private var completion: ((Result<Void, any Error>) -> Void)?
    private var isAccepted = false
    private var interimCount = 0

    /// Creates a handler that requests one tunnel.
    ///
    /// - Parameters:
    ///   - origin: The server to which the tunnel leads.
    ///   - proxy: The proxy, whose credentials are sent.
    ///   - completion: A closure that is called once, when the tunnel is open or can't be opened.
    init(
        to origin: Origin, through proxy: ProxyServer, completion: @escaping (Result<Void, any Error>) -> Void
    ) {
        let server = "\(origin.host):\(origin.port)"
        var headers = HTTPHeaders([("Host", server)])
        if let credentials = proxy.credentials { headers.add(name: "Proxy-Authorization", value: credentials.basic) }
        head = HTTPRequestHead(version: .http1_1, method: .CONNECT, uri: server, headers: headers)
        isSecure = proxy.isSecure
        self.completion = completion
    }

    /// Adds the handlers to the end of the pipeline of an active channel.
    func add(to pipeline: ChannelPipeline.SynchronousOperations) throws {
        try pipeline.addHandlers(encoder, parser, self)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        if !isSecure { send(context) }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted? = event as? TLSUserEvent { send(context) }
        context.fireUserInboundEventTriggered(event)
    }

    func handlerRemoved(context: ChannelHandlerContext) { finish(.failure(ChannelError.eof)) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head) where 100..<200 ~= head.status.code && head.status != .switchingProtocols:
            interimCount += 1
            if interimCount > HTTPConnection.mostInterimResponses {
                finish(.failure(DownloadError(.proxyFailed, "sent too many interim responses")))
            }
        case .head(let head) where 200..<300 ~= head.status.code: isAccepted = true
        case .head(let head): finish(.failure(DownloadError(proxyStatus: StatusCode(Int(head.status.code)))))
        case .body: break
        case .end: if isAccepted { leave(context.pipeline.syncOperations) }
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { finish(.failure(error)) }

    func channelInactive(context: ChannelHandlerContext) {
        finish(.failure(ChannelError.eof))
        context.fireChannelInactive()
    }

    private func send(_ context: ChannelHandlerContext) {
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }

    /// Removes the handlers, and then reports that the tunnel is open.
    private func leave(_ pipeline: ChannelPipeline.SynchronousOperations) {
        let completion = completion.take()
        // The parser is removed later than the others, because it is calling this handler.
        let removals = [
            pipeline.removeHandler(parser), pipeline.removeHandler(encoder), pipeline.removeHandler(self),
        ]
        EventLoopFuture.andAllSucceed(removals, on: pipeline.eventLoop).assumeIsolated()
            .whenComplete { completion?($0) }
    }

    private func finish(_ result: Result<Void, any Error>) { completion.take()?(result) }
}
#endif
