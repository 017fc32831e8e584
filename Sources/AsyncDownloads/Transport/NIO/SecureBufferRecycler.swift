#if ServerStack
internal import NIOCore

/// A handler in front of TLS that keeps the buffer of each read for another read, after its bytes were decrypted.
///
/// Without TLS, a part of a body is a slice of the read's buffer, so ``HandlerCalls`` keeps the buffer after the part
/// was passed to the exchange's handler.
final class SecureBufferRecycler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let buffers: ReadBuffers

    init(_ buffers: ReadBuffers) { self.buffers = buffers }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        context.fireChannelRead(data)
        buffers.recycle(unwrapInboundIn(data))
    }
}
#endif
