internal import CZlib

/// A decoder of gzip data (RFC 1952) that is given the data in pieces.
///
/// Several members may follow each other, as in the output of `cat a.gz b.gz`.
final class Gunzip {
    /// The bytes with which gzip data begins.
    static let magic: [UInt8] = [0x1F, 0x8B]

    private static let windowBits: Int32 = 15 + 16

    /// The state of zlib, which keeps a pointer to it.
    private let stream: UnsafeMutablePointer<z_stream>
    private var isAtBoundary = false
    private var output = [UInt8](repeating: 0, count: 1 << 16)

    init() {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        let status = inflateInit2_(stream, Self.windowBits, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
        precondition(status == Z_OK, "zlib can't be initialized: \(status)")
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
    }

    /// Decodes a piece, and calls `body` with each part of the result.
    func decode(_ piece: inout [UInt8], _ body: (ArraySlice<UInt8>) throws(Misuse) -> Void) throws(Misuse) {
        var failure: Misuse?
        let isValid = piece.withUnsafeMutableBufferPointer { input in
            stream.pointee.next_in = input.baseAddress
            stream.pointee.avail_in = UInt32(input.count)
            while stream.pointee.avail_in > 0 || stream.pointee.avail_out == 0 {
                if isAtBoundary {
                    // Zeros may follow the last member, for example on a tape.
                    while stream.pointee.avail_in > 0, stream.pointee.next_in.pointee == 0 {
                        stream.pointee.next_in += 1
                        stream.pointee.avail_in -= 1
                    }
                    guard stream.pointee.avail_in > 0 else { return true }
                    guard inflateReset(stream) == Z_OK else { return false }
                    isAtBoundary = false
                }
                let (status, count) = inflatePart()
                guard status == Z_OK || status == Z_STREAM_END || status == Z_BUF_ERROR else { return false }
                do throws(Misuse) {
                    try body(output[..<count])
                } catch {
                    failure = error
                    return true
                }
                isAtBoundary = status == Z_STREAM_END
                if status == Z_BUF_ERROR, count == 0 { return true }
            }
            return true
        }
        if let failure { throw failure }
        guard isValid else { throw Misuse("the gzip data is damaged") }
    }

    /// Checks that the data ended with a complete member.
    func finish() throws(Misuse) {
        guard isAtBoundary else { throw Misuse("the gzip data is incomplete") }
    }

    private func inflatePart() -> (status: Int32, count: Int) {
        output.withUnsafeMutableBufferPointer { buffer in
            stream.pointee.next_out = buffer.baseAddress
            stream.pointee.avail_out = UInt32(buffer.count)
            let status = inflate(stream, Z_NO_FLUSH)
            return (status, buffer.count - Int(stream.pointee.avail_out))
        }
    }
}
