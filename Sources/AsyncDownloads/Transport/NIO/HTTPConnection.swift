#if ServerStack
internal import NIOCore
internal import NIOHTTP1
internal import NIOTLS

/// A connection to a server or a proxy, over which exchanges run one after the other; used on its event loop only.
///
/// The connection is the last handler of its channel. NIO's parser is in front of it, and ``InboundBytes`` in front of
/// the parser. An exchange whose response is complete ends after the whole read was parsed, never inside the parser, so
/// that the connection is back in its pool when the end is reported.
final class HTTPConnection: ChannelDuplexHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundIn = Never
    typealias OutboundOut = HTTPClientRequestPart

    private enum Phase {
        /// TCP or TLS is being established, or ``HTTPConnection/whenOpened(_:)`` has not been called yet.
        case opening(isReady: Bool, completion: ((Result<Void, any Error>) -> Void)?)
        /// No response is expected: bytes that arrive end the connection.
        case idle
        /// A request was sent, and this number of interim responses has arrived.
        case awaitingHead(NIOExchange, interimCount: Int)
        /// The head was delivered.
        case receivingBody(NIOExchange, keepsAlive: Bool)
        /// The response is complete, and the rest of the same read is being parsed.
        case received(NIOExchange, keepsAlive: Bool)
        /// The channel is closed or being closed; bytes that still arrive are dropped.
        case closed
    }

    /// The largest number of interim responses to one request (RFC 9110, 15.2).
    static let mostInterimResponses = 16
    /// The maximum total length of a response's head and its interim responses, in bytes.
    private static let mostHeadBytes = 256 << 10

    let route: Route
    private let pool: ConnectionPool
    private var context: ChannelHandlerContext?
    private var phase = Phase.opening(isReady: false, completion: nil)
    private var boundary = ResponseBoundary()
    /// The number of requests sent on this connection.
    private var requestCount = 0
    /// The number of bytes that have arrived since the last request was sent, up to the head.
    private var headByteCount = 0
    /// Whether a read was held back until the delivery has room.
    private var isReadHeld = false
    private lazy var resumption: @Sendable () -> Void = { [loop = pool.loop.eventLoop] in
        let connection = NIOLoopBound(self, eventLoop: loop)
        return { loop.execute { connection.value.continueReading() } }
    }()

    init(by route: Route, in pool: ConnectionPool) {
        self.route = route
        self.pool = pool
    }

    /// Adds the parser and the connection's handlers to the end of a pipeline, behind the handlers of TLS.
    func addHandlers(to pipeline: ChannelPipeline.SynchronousOperations) throws {
        var limits = NIOHTTPDecoderLimitConfiguration()
        limits.maxHeaderListSize = Self.mostHeadBytes
        // Interim responses are forwarded so that they can be counted.
        let decoder = HTTPResponseDecoder(informationalResponseStrategy: .forward, limitConfiguration: limits)
        try pipeline.addHandlers(
            InboundBytes(connection: self), HTTPRequestEncoder(), ByteToMessageHandler(decoder), self)
    }
}

// MARK: - Calls by the pool

extension HTTPConnection {
    /// Calls `completion` once, when the connection can be used or can't be established.
    ///
    /// After a success, the pool is responsible for the connection.
    func whenOpened(_ completion: @escaping (Result<Void, any Error>) -> Void) {
        switch phase {
        case .opening(isReady: true, completion: nil):
            phase = .idle
            completion(.success(()))
        case .opening(isReady: false, completion: nil): phase = .opening(isReady: false, completion: completion)
        case .closed: completion(.failure(ChannelError.ioOnClosedChannel))
        case .opening, .idle, .awaitingHead, .receivingBody, .received: preconditionFailure("opened twice")
        }
    }

    /// Sends the request of an exchange.
    func send(_ exchange: NIOExchange) {
        guard case .idle = phase, let context else { preconditionFailure("a request on a busy connection") }
        phase = .awaitingHead(exchange, interimCount: 0)
        requestCount += 1
        exchange.delivery.started(isReused: requestCount > 1)
        headByteCount = 0
        context.write(wrapOutboundOut(.head(exchange.request.head)), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }

    /// Closes the connection if an exchange that has ended is still running on it.
    func drop(_ exchange: NIOExchange) {
        switch phase {
        case .awaitingHead(let current, _), .receivingBody(let current, _), .received(let current, _):
            if current === exchange { close() }
        case .opening, .idle, .closed: break
        }
    }

    func close() {
        let lastPhase = phase
        phase = .closed
        switch lastPhase {
        case .closed: return
        case .opening: context?.close(promise: nil)
        case .idle, .awaitingHead, .receivingBody, .received:
            context?.close(promise: nil)
            pool.connectionClosed(self)
        }
    }
}

// MARK: - Calls by the channel

extension HTTPConnection {
    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        if context.channel.isActive, !route.isSecure { opened() }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        // `channelInactive` isn't called if the channel never became active.
        fail(ChannelError.ioOnClosedChannel)
        self.context = nil
        // The closure retains the connection.
        resumption = {}
    }

    func channelActive(context: ChannelHandlerContext) {
        if !route.isSecure { opened() }
        context.fireChannelActive()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted? = event as? TLSUserEvent { opened() }
        context.fireUserInboundEventTriggered(event)
    }

    func channelInactive(context: ChannelHandlerContext) {
        if case .received(let exchange, _) = phase {
            // The end of the connection ended the body (RFC 9112, 6.3).
            close()
            pool.stop(exchange, .complete)
        } else {
            fail(ChannelError.eof)
        }
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if case .received(let exchange, _) = phase {
            // The parser rejects bytes after the response; the response itself is complete.
            phase = .received(exchange, keepsAlive: false)
        } else {
            fail(error)
        }
    }

    /// Returns whether bytes should be parsed.
    func willParse(_ bytes: ByteBuffer) -> Bool {
        switch phase {
        case .awaitingHead:
            headByteCount += bytes.readableBytes
        case .receivingBody:
            break
        case .idle:
            // Bytes that were not requested must not become the response to the next request.
            close()
            return false
        case .opening, .received, .closed:
            return false
        }
        boundary.begin(bytes)
        return true
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch (unwrapInboundIn(data), phase) {
        case (.head(let head), .awaitingHead(let exchange, let interimCount)):
            receive(head, for: exchange, interimCount)
        case (.body(let part), .receivingBody(let exchange, _)):
            boundary.foundBody(part)
            exchange.delivery.receivedPart(part)
        case (.end, .receivingBody(let exchange, let keepsAlive)):
            phase = .received(exchange, keepsAlive: keepsAlive)
        case (_, .closed):
            break
        case (.head, _), (.body, _), (.end, _):
            fail(DownloadError(.malformedResponse, "an unexpected part of a response"))
        }
    }

    /// Ends an exchange whose response is complete, after all bytes of a read were parsed.
    func didParse(_ bytes: ByteBuffer) {
        switch phase {
        case .received(let exchange, let keepsAlive):
            if keepsAlive, boundary.isAtEnd(of: bytes) {
                phase = .idle
                continueReading()
                exchange.whenKept()
                pool.release(self)
            } else {
                close()
            }
            pool.stop(exchange, .complete)
        case .awaitingHead where headByteCount > Self.mostHeadBytes:
            fail(HTTPParserError.headerOverflow)
        case .awaitingHead, .receivingBody, .idle, .opening, .closed:
            break
        }
    }

    /// Holds back the reads of the connection while the handler of its exchange isn't ready.
    func read(context: ChannelHandlerContext) {
        if case .receivingBody(let exchange, _) = phase {
            isReadHeld = exchange.delivery.holdsReads(until: resumption)
            if isReadHeld { return }
        }
        context.read()
    }
}

extension HTTPConnection {
    private func opened() {
        guard case .opening(isReady: false, let completion) = phase else { return }
        phase = completion == nil ? .opening(isReady: true, completion: nil) : .idle
        completion?(.success(()))
    }

    private func receive(_ head: HTTPResponseHead, for exchange: NIOExchange, _ interimCount: Int) {
        switch head.status.code {
        case 101:
            fail(DownloadError(.malformedResponse, "the server switched protocols without a request"))
        case 100..<200 where interimCount == Self.mostInterimResponses:
            fail(DownloadError(.malformedResponse, "too many interim responses"))
        case 100..<200:
            phase = .awaitingHead(exchange, interimCount: interimCount + 1)
        default:
            phase = .receivingBody(exchange, keepsAlive: head.isKeepAlive)
            exchange.delivery.receivedHead(head)
        }
    }

    /// Returns whether an error may have been caused before the last request was sent on a reused connection: the
    /// server had closed the connection before the request arrived, or bytes of an earlier response arrived late.
    private func mayBeOlder(_ error: any Error) -> Bool {
        requestCount > 1 && (headByteCount == 0 || error is HTTPParserError)
    }

    private func continueReading() {
        guard isReadHeld, let context else { return }
        isReadHeld = false
        read(context: context)
    }

    /// Closes the connection and ends the exchange that runs on it, because of an error.
    ///
    /// If the error may have been caused before the request was sent, the request is sent again, once, on another
    /// connection (RFC 9112, 9.3.1).
    private func fail(_ error: any Error) {
        let lastPhase = phase
        close()
        switch lastPhase {
        case .opening(_, let completion):
            completion?(.failure(error))
        case .awaitingHead(let exchange, interimCount: 0) where mayBeOlder(error) && !exchange.wasRestarted:
            pool.restart(exchange)
        case .awaitingHead(let exchange, _):
            pool.stop(exchange, .failed(DownloadError(nio: error, hasHead: false)))
        case .receivingBody(let exchange, _):
            pool.stop(exchange, .failed(DownloadError(nio: error, hasHead: true)))
        case .received(let exchange, _):
            pool.stop(exchange, .complete)
        case .idle, .closed:
            break
        }
    }
}
#endif
