internal import NIOCore

extension ByteBuffer {
    /// Creates a buffer with the bytes of `piece`, framed as a chunk (RFC 9112, 7.1) if `chunked` is true.
    init(_ piece: BodyPart, chunked: Bool) {
        self.init()
        reserveCapacity(Int(piece.length) + 16)
        if chunked { writeString("\(String(piece.length, radix: 16))\r\n") }
        switch piece.body {
        case .content(let content):
            writeWithUnsafeMutableBytes(minimumWritableBytes: Int(piece.length)) { buffer in
                let target = UnsafeMutableRawBufferPointer(rebasing: buffer[..<Int(piece.length)])
                content.fill(target, from: piece.range.lowerBound)
                return target.count
            }
        case .bytes(let bytes):
            writeBytes(bytes[Int(piece.range.lowerBound)..<Int(piece.range.upperBound)])
        }
        if chunked { writeString("\r\n") }
    }
}
