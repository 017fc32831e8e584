private import struct Foundation.Data

/// The digests of a whole representation that a server states (RFC 9530, 3).
///
/// A partial response states the same digests as a complete one. Digests that can't be read are ignored rather than
/// reported as an error, because the field is advisory.
package struct ReprDigest: Sendable, Hashable {
    /// The digests of known algorithms, at most one for each, in the order of ``Checksum/Algorithm/allCases``.
    package let checksums: [Checksum]

    /// The value of the `Want-Repr-Digest` field to send (RFC 9530, 4): both algorithms, with SHA-256 preferred.
    static let preference = "sha-256=10, sha-512=9"

    /// Reads the `Repr-Digest` fields; `nil` if they contain no usable digest.
    package init?(_ headers: HeaderFields) {
        guard let text = headers["Repr-Digest"] else { return nil }
        self.init(text)
    }

    /// Parses a dictionary of byte sequences; `nil` if it is malformed or contains no usable digest.
    ///
    /// If several members have the same key, the last one is used (RFC 9651, 3.2 and 3.3.5).
    package init?(_ text: String) {
        var scanner = FieldScanner(text)
        var found: [Checksum.Algorithm: Checksum] = [:]
        repeat {
            scanner.takeWhitespace()
            let key = scanner.take { $0.isTokenCharacter && $0.asciiLowercased == $0 }
            guard !key.isEmpty else { return nil }
            let algorithm = Checksum.Algorithm(rawValue: String(key))
            if let algorithm { found[algorithm] = nil }
            if scanner.take("="), scanner.take(":") {
                let encoded = scanner.take { $0 != UInt8(ascii: ":") }
                guard scanner.take(":") else { return nil }
                if let algorithm { found[algorithm] = Checksum(algorithm, base64: encoded) }
            }
            scanner.skipToNextMember()
        } while scanner.take(",")
        guard scanner.isAtEnd, !found.isEmpty else { return nil }
        checksums = Checksum.Algorithm.allCases.compactMap { found[$0] }
    }

    /// Returns whether another response states one of these digests, which proves that it has the same representation.
    func agrees(with other: [Checksum]) -> Bool { checksums.contains(where: other.contains) }

    /// Returns whether the digests prove that another response has a different representation.
    ///
    /// Digests of different algorithms prove nothing.
    package func contradicts(_ other: [Checksum]) -> Bool {
        checksums.contains { own in other.contains { $0.algorithm == own.algorithm && $0 != own } }
    }
}

extension Checksum {
    /// Decodes the base64 text of a structured field, with or without padding; `nil` if it is malformed or its length
    /// is wrong.
    fileprivate init?(_ algorithm: Algorithm, base64: Substring) {
        let padding = String(repeating: "=", count: (4 - base64.utf8.count % 4) % 4)
        guard let digest = Data(base64Encoded: base64 + padding), digest.count == algorithm.byteCount
        else { return nil }
        self.init(algorithm: algorithm, hex: hexadecimal(digest))
    }
}

extension FieldScanner {
    /// Skips parameters and values of other types up to the comma before the next member, or to the end.
    fileprivate mutating func skipToNextMember() {
        while true {
            _ = take { $0 != UInt8(ascii: ",") && $0 != UInt8(ascii: "\"") }
            guard take("\"") else { return }
            while let byte = takeByte(), byte != UInt8(ascii: "\"") {
                if byte == UInt8(ascii: "\\") { _ = takeByte() }
            }
        }
    }
}
