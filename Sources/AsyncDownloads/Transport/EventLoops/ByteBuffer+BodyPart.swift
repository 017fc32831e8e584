#if ServerStack
internal import NIOCore

extension ByteBuffer: BodyPart {
    var length: Int { readableBytes }

    mutating func removeFirst(_ length: Int) -> ByteBuffer { readSlice(length: length) ?? ByteBuffer() }

    mutating func append(_ part: ByteBuffer) { writeImmutableBuffer(part) }

    // A slice retains the whole buffer into which it was read, so the bytes are copied.
    func compacted() -> ByteBuffer { ByteBuffer(bytes: readableBytesView) }
}
#endif
