internal import LoopbackServer

/// A content of 1000 bytes, and its gzip coding without compression (RFC 1951, 3.2.4, and RFC 1952, 2.3).
enum GzipSample {
    static let content = Content(seed: 6, length: 1000)

    static let coded: [UInt8] = {
        let bytes = content.bytes(in: 0..<content.length)
        let header: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255]
        let length = littleEndian(UInt32(bytes.count))
        // A single stored block: the flag of the last block, the length, and the inverted length.
        let block: [UInt8] = [1] + length.prefix(2) + length.prefix(2).map { ~$0 } + bytes
        return header + block + littleEndian(checksum(of: bytes)) + length
    }()

    private static func checksum(of bytes: [UInt8]) -> UInt32 {
        ~bytes.reduce(UInt32.max) { sum, byte in
            (0..<8).reduce(sum ^ UInt32(byte)) { sum, _ in sum & 1 == 1 ? sum >> 1 ^ 0xEDB8_8320 : sum >> 1 }
        }
    }

    private static func littleEndian(_ number: UInt32) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }
}
