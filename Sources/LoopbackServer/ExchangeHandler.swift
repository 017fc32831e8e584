internal import NIOCore
internal import NIOHTTP1

/// A channel handler that reads the requests of a connection and responds to them one at a time, each by its plan.
///
/// Responses are written as bytes, so that a malformed response is as easy to send as a correct one.
final class ExchangeHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = ByteBuffer

    private enum Phase {
        /// No exchange is in progress.
        case idle
        /// A caller higher in the call stack performs the exchange's actions.
        case running
        /// The socket accepts no more bytes; the exchange continues when it does.
        case unwritable
        /// The exchange waits for a timer or for the release of a hold.
        case suspended
        /// The last exchange has ended, or the connection is closed. No exchange follows.
        case closed
    }

    private static let pieceSize = 65_536

    /// The number of body bytes after which the handler yields to other connections of the event loop.
    private static let turn = 16 * pieceSize

    private let site: Site
    private let connection: Int
    private var context: ChannelHandlerContext?
    private var phase = Phase.idle
    private var exchange: Exchange?
    private var arriving: RequestHead?
    private var queue: [RequestHead] = []

    init(site: Site) {
        self.site = site
        connection = site.addConnection()
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            arriving = RequestHead(head)
        case .body:
            break
        case .end:
            if let arriving { queue.append(arriving) }
            arriving = nil
            beginNext()
        }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if phase == .unwritable, context.channel.isWritable { proceed() }
    }

    func channelInactive(context: ChannelHandlerContext) {
        phase = .closed
        endExchange()
        self.context = nil
    }

    /// Closes the connection after a malformed request or a connection error.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    private func beginNext() {
        guard phase == .idle, !queue.isEmpty else { return }
        exchange = site.begin(queue.removeFirst(), connection: connection)
        proceed()
    }

    private func endExchange() {
        guard let exchange else { return }
        self.exchange = nil
        site.end(exchange.number)
    }

    private func proceed() {
        guard let context, phase != .closed else { return }
        phase = .running
        var written = 0
        while phase == .running, let next = exchange?.actions.first {
            if case .body = next {
                guard written < Self.turn else { return resume(after: .zero) }
                guard isWritable(context) else {
                    phase = .unwritable
                    return
                }
            }
            written += perform(context)
        }
    }

    /// Performs the next action, and returns the number of body bytes that it wrote.
    private func perform(_ context: ChannelHandlerContext) -> Int {
        guard var exchange else { return 0 }
        let pieceSize = min(Self.pieceSize, max(1, (exchange.bytesPerSecond ?? .max) / 20))
        let action = exchange.next(bodyBytes: pieceSize)
        self.exchange = exchange
        switch action {
        case .wait(let duration):
            resume(after: duration)
        case .hold:
            hold(exchange.number)
        case .send(let bytes):
            context.write(wrapOutboundOut(ByteBuffer(bytes: bytes)), promise: nil)
        case .body(let piece, let chunked):
            let count = Int(piece.length)
            // The bytes are counted before they are written, so a client never has more bytes than were counted.
            site.addBodyBytes(count, at: exchange.path)
            context.write(wrapOutboundOut(ByteBuffer(piece, chunked: chunked)), promise: nil)
            if let rate = exchange.bytesPerSecond { resume(after: .seconds(Double(count) / Double(rate))) }
            return count
        case .read(let isReading):
            // Fails only if the connection is closed.
            _ = context.channel.setOption(.autoRead, value: isReading)
        case .close(let closing):
            phase = .closed
            close(context, closing)
        case .finish:
            // The flush may discover that the connection is closed, which sets the phase to `closed`.
            phase = .idle
            context.flush()
            endExchange()
            beginNext()
        }
        return 0
    }

    private func isWritable(_ context: ChannelHandlerContext) -> Bool {
        if !context.channel.isWritable { context.flush() }
        return context.channel.isWritable
    }

    private func resume(after duration: Duration) {
        phase = .suspended
        context?.flush()
        context?.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(duration)) { self.proceed() }
    }

    private func hold(_ number: Int) {
        guard let context else { return }
        phase = .suspended
        context.flush()
        let hold = context.eventLoop.makePromise(of: Void.self)
        hold.futureResult.assumeIsolated().whenSuccess { self.proceed() }
        site.hold(number, hold)
    }

    /// Closes the connection after all earlier bytes were sent; the exchange ends with the connection.
    private func close(_ context: ChannelHandlerContext, _ closing: ConnectionEnd) {
        let written = context.eventLoop.makePromise(of: Void.self)
        written.futureResult.assumeIsolated().whenComplete { _ in
            switch closing {
            case .orderly: context.close(promise: nil)
            case .reset: context.channel.reset()
            }
        }
        context.writeAndFlush(wrapOutboundOut(ByteBuffer()), promise: written)
    }
}
