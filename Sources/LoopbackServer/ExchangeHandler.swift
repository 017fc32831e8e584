#if ServerStack
internal import NIOCore
internal import NIOHTTP1

/// Reads a connection's requests and answers them one by one, each by its plan.
///
/// Responses are written as bytes, so that broken ones are no harder than honest ones.
final class ExchangeHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = ByteBuffer

    private enum Phase {
        /// No exchange.
        case idle
        /// The exchange's actions are being done, further up the stack.
        case running
        /// The socket takes no more; goes on when it does.
        case unwritable
        /// A timer or a hold has the exchange.
        case suspended
        /// The last exchange is over, or the connection gone. Nothing follows.
        case closed
    }

    private static let pieceSize = 65_536

    /// Body bytes after which other connections of the event loop get their turn.
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

    /// A broken request, or a broken connection.
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

    /// Does the next action, and returns the number of body bytes it wrote.
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
            // Counted first: what a client has received is never more than the count.
            site.addBodyBytes(count, at: exchange.path)
            context.write(wrapOutboundOut(ByteBuffer(piece, chunked: chunked)), promise: nil)
            if let rate = exchange.bytesPerSecond { resume(after: .seconds(Double(count) / Double(rate))) }
            return count
        case .close(let closing):
            phase = .closed
            close(context, closing)
        case .finish:
            // The flush may find the connection gone, which makes the phase closed.
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

    /// Closes when every byte before it is sent; the exchange ends with the connection.
    private func close(_ context: ChannelHandlerContext, _ closing: Closing) {
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
#endif
