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

/// A check of whether a read ended exactly where a response ended, so that the connection can be used again.
///
/// The parser consumes bytes after a response without reporting them: a partial head after one response would become
/// the beginning of the next response. Either of two facts proves that nothing follows: the last part of the body ends
/// with the read, or the read ends with an empty line. In the latter case, either the response ended with that line, or
/// the response is followed by a whole head, which the parser rejects, because no request is outstanding. Without a
/// proof, the connection is closed.
struct ResponseBoundary {
    /// The last four bytes received so far.
    private var tail: UInt32 = 0
    /// The end address of the last body part in the present read; nil if the read has none so far.
    private var bodyEnd: UnsafeRawPointer?

    private static let emptyLine: UInt32 = 0x0D0A_0D0A

    /// Handles the bytes of a read before they are parsed.
    mutating func begin(_ bytes: ByteBuffer) {
        bodyEnd = nil
        for byte in bytes.readableBytesView.suffix(4) { tail = tail << 8 | UInt32(byte) }
    }

    /// Records a part of a body, which may be a slice of the bytes that were read.
    mutating func foundBody(_ part: ByteBuffer) { bodyEnd = Self.end(of: part) }

    /// Returns whether nothing follows a response that ended in the read of these bytes.
    func isAtEnd(of bytes: ByteBuffer) -> Bool {
        tail == Self.emptyLine || bodyEnd == Self.end(of: bytes)
    }

    private static func end(of bytes: ByteBuffer) -> UnsafeRawPointer? {
        bytes.withUnsafeReadableBytes { $0.baseAddress.map { $0 + bytes.readableBytes } }
    }
}
#endif
