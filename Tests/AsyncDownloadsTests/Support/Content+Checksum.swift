import AsyncDownloads
import Foundation
import LoopbackServer

#if canImport(CryptoKit)
import CryptoKit
#else
import Crypto
#endif

extension Content {
    /// The SHA-256 digest of the whole content, computed by independent code.
    var sha256: Checksum {
        let digits = SHA256.hash(data: bytes(in: 0..<length)).map { String(format: "%02x", $0) }
        return .sha256(digits.joined())
    }

    /// The SHA-512 digest of the whole content, computed by independent code.
    var sha512: Checksum {
        let digits = SHA512.hash(data: bytes(in: 0..<length)).map { String(format: "%02x", $0) }
        return .sha512(digits.joined())
    }

    /// The correct value of the `Repr-Digest` field (RFC 9530).
    var reprDigest: String { "sha-256=:\(Data(SHA256.hash(data: bytes(in: 0..<length))).base64EncodedString()):" }
}
