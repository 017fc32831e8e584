#if canImport(CryptoKit)
internal import CryptoKit
#elseif ServerStack
internal import Crypto
#endif

/// A digest that follows a file while it grows, and is there soon after its last byte (rule 48).
///
/// It reads the file from its first byte, those of earlier runs included, so nothing of its state has to be kept. What
/// has just been written is read from the system's memory.
struct RunningDigest: Sendable {
    /// Whether this build can compute digests.
    static var isAvailable: Bool {
        #if canImport(CryptoKit) || ServerStack
        true
        #else
        false
        #endif
    }

    /// How many bytes are in it.
    private(set) var position: Int64 = 0

    #if canImport(CryptoKit) || ServerStack
    private enum Function {
        case sha256(SHA256)
        case sha512(SHA512)
    }

    private var function: Function

    /// The digest of no bytes yet.
    init(_ algorithm: Checksum.Algorithm) throws(DownloadError) {
        switch algorithm {
        case .sha256: function = .sha256(SHA256())
        case .sha512: function = .sha512(SHA512())
        }
    }

    /// The digest of what is in it, in lower-case hexadecimal digits.
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
        throw DownloadError(.unsupported, "checksums on Linux need the trait ServerStack")
    }

    var hex: String { "" }

    private mutating func add(_ bytes: UnsafeRawBufferPointer) {}
    #endif

    // Small enough to stay in a core's cache between the reading and the hashing.
    private static let partSize = 256 << 10

    /// Reads bytes into the buffer from an offset on, and returns how many; 0 at the end of the file.
    typealias Reading = (UnsafeMutableRawBufferPointer, Int64) throws(DownloadError) -> Int

    /// Takes in the file's bytes up to `end`, which must have been written; blocks on the disk.
    mutating func advance(to end: Int64, reading read: Reading) throws(DownloadError) {
        guard position < end else { return }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.partSize, alignment: 64)
        defer { buffer.deallocate() }
        while position < end {
            let wanted = Int(min(Int64(Self.partSize), end - position))
            let count = try read(UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted]), position)
            guard count > 0 else { throw DownloadError(.storageFailure, "the partial file ends too early") }
            add(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        }
    }
}
