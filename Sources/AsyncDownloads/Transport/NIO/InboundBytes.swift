#if ServerStack
internal import NIOCore

/// A handler in front of the parser that calls the connection before and after the bytes of each read are parsed.
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
