#if ServerStack
internal import NIOCore

/// The handler in front of the parser, which shows a connection the bytes of each read before and after they are parsed.
final class InboundBytes: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let connection: HTTPConnection

    init(connection: HTTPConnection) { self.connection = connection }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        guard connection.willParse(bytes) else { return }
        context.fireChannelRead(data)
        connection.didParse(bytes)
    }
}
#endif
