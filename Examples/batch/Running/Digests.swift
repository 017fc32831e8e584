internal import AsyncDownloads
internal import Foundation

#if canImport(CryptoKit)
internal import CryptoKit
#else
internal import Crypto
#endif

/// SHA-256 digests (FIPS 180-4) in hexadecimal digits.
enum Digests {
    private static let pieceLength = 1 << 20

    /// Returns the digest of a text.
    static func sha256(of text: String) -> String { hex(SHA256.hash(data: Data(text.utf8))) }

    /// Returns the digest of a finished file, for events and reports; nil if the file can't be read.
    ///
    /// - Parameters:
    ///   - file: The file.
    ///   - checksum: The digest that the file is known to have, if there is one.
    static func sha256(of file: URL, verified checksum: Checksum?) async -> String? {
        if let checksum, checksum.algorithm == .sha256 { return checksum.hex }
        return await DiskQueue.run { try? compute(file) }
    }

    /// Reads a file, and returns its digest.
    static func compute(_ file: URL) throws -> String {
        let handle = try FileHandle(forReadingFrom: file)
        defer { try? handle.close() }
        var digest = SHA256()
        while let piece = try handle.read(upToCount: pieceLength), !piece.isEmpty { digest.update(data: piece) }
        return hex(digest.finalize())
    }

    static func hex(_ digest: SHA256.Digest) -> String {
        digest.map { String(format: "%02x", $0) }.joined()
    }
}
