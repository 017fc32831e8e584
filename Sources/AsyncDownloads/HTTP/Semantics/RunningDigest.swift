#if canImport(CryptoKit)
internal import CryptoKit
#elseif ServerStack
internal import Crypto
#endif

/// A digest that is computed while a file grows, so that it is available soon after the last byte (rule 48).
///
/// The digest covers the file from its first byte, including the bytes of earlier runs, so no intermediate state has to
/// be saved. Bytes that were just written are usually read from the system's page cache.
struct RunningDigest: Sendable {
    /// Whether this build can compute digests.
    static var isAvailable: Bool {
        #if canImport(CryptoKit) || ServerStack
        true
        #else
        false
        #endif
    }

    /// The number of bytes that the digest covers.
    private(set) var position: Int64 = 0

    #if canImport(CryptoKit) || ServerStack
    private enum Function: @unchecked Sendable {  // The functions are values; swift-crypto 3 doesn't declare it.
        case sha256(SHA256)
        case sha512(SHA512)
    }

    private var function: Function

    /// Creates a digest that covers no bytes.
    ///
    /// - Throws: An error with the code ``DownloadError/Code/unsupported`` if ``isAvailable`` is `false`.
    init(_ algorithm: Checksum.Algorithm) throws(DownloadError) {
        switch algorithm {
        case .sha256: function = .sha256(SHA256())
        case .sha512: function = .sha512(SHA512())
        }
    }

    /// The digest of the covered bytes in lowercase hexadecimal digits.
    var hex: String {
        switch function {
        case .sha256(let function): hexadecimal(function.finalize())
        case .sha512(let function): hexadecimal(function.finalize())
        }
    }

    private mutating func add(_ bytes: UnsafeRawBufferPointer) {
        switch function {
        case .sha256(var own):
            own.update(bufferPointer: bytes)
            function = .sha256(own)
        case .sha512(var own):
            own.update(bufferPointer: bytes)
            function = .sha512(own)
        }
        position += Int64(bytes.count)
    }
    #else
    init(_ algorithm: Checksum.Algorithm) throws(DownloadError) {
        throw DownloadError(.unsupported, "checksums require the trait ServerStack on Linux")
    }

    var hex: String { "" }

    private mutating func add(_ bytes: UnsafeRawBufferPointer) {}
    #endif

    /// Returns the SHA-256 digest of a few bytes; nil if ``isAvailable`` is `false`.
    static func sha256(of bytes: [UInt8]) -> [UInt8]? {
        #if canImport(CryptoKit) || ServerStack
        return Array(SHA256.hash(data: bytes))
        #else
        return nil
        #endif
    }

    /// The number of bytes that are read at once: few enough to stay in a core's cache until they are hashed.
    private static let partSize = 64 << 10

    /// A function that reads bytes at an offset into a buffer, and returns the number of bytes, or 0 at the end of the
    /// file.
    typealias Reading = (UnsafeMutableRawBufferPointer, Int64) throws(DownloadError) -> Int

    /// Adds the file's bytes up to `end`, which must have been written.
    ///
    /// The function blocks while it reads from the disk.
    mutating func advance(to end: Int64, reading read: Reading) throws(DownloadError) {
        guard position < end else { return }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.partSize, alignment: 64)
        defer { buffer.deallocate() }
        while position < end {
            let wanted = Int(min(Int64(Self.partSize), end - position))
            let count = try read(UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted]), position)
            guard count > 0 else { throw DownloadError(.storageFailure, "the file is shorter than expected") }
            add(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        }
    }
}
