#if ServerStack
internal import NIOCore

/// The handler in front of TLS that keeps the memory of each read for another one, after its bytes were decrypted.
///
/// Without TLS, the bytes of a read are those of a part, whose memory is kept when it has been passed to its handler.
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
