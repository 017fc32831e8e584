#if canImport(CryptoKit)
internal import CryptoKit
#elseif ServerStack
internal import Crypto
#endif

/// Computes a whole file's digest, the bytes of earlier runs included (rule 48).
enum FileDigest {
    /// Whether this build can compute digests.
    static var isAvailable: Bool {
        #if canImport(CryptoKit) || ServerStack
        true
        #else
        false
        #endif
    }

    /// The digest of the first `length` bytes in lower-case hexadecimal digits; blocks on the disk.
    static func hex(
        _ algorithm: Checksum.Algorithm, of partial: any Partial, length: Int64
    ) throws(DownloadError) -> String {
        #if canImport(CryptoKit) || ServerStack
        switch algorithm {
        case .sha256: return try hex(SHA256(), of: partial, length: length)
        case .sha512: return try hex(SHA512(), of: partial, length: length)
        }
        #else
        throw DownloadError(.unsupported, "checksums on Linux need the trait ServerStack")
        #endif
    }

    #if canImport(CryptoKit) || ServerStack
    private static let partSize = 1 << 20

    private static func hex<Function: HashFunction>(
        _ function: Function, of partial: any Partial, length: Int64
    ) throws(DownloadError) -> String {
        var function = function
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: partSize, alignment: 16)
        defer { buffer.deallocate() }
        var position: Int64 = 0
        while position < length {
            let wanted = Int(min(Int64(partSize), length - position))
            let count = try partial.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted]), at: position)
            guard count > 0 else { throw DownloadError(.storageFailure, "the partial file ends too early") }
            function.update(bufferPointer: UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            position += Int64(count)
        }
        return function.finalize().reduce(into: "") { text, byte in
            let digits = String(byte, radix: 16)
            text += digits.count == 1 ? "0" + digits : digits
        }
    }
    #endif
}
