private import struct Foundation.Data

/// The digests of a whole representation that a server vouches for (RFC 9530, 3).
///
/// They are the same in a partial response as in a complete one. What cannot be read vouches for nothing; that is no
/// error, since the field is advice.
package struct ReprDigest: Sendable, Hashable {
    /// Those of the algorithms that this package knows, one each, in the order of ``Checksum/Algorithm/allCases``.
    package let checksums: [Checksum]

    /// What to send as `Want-Repr-Digest` (RFC 9530, 4): both algorithms, SHA-256 first.
    package static let preference = "sha-256=10, sha-512=9"

    /// Reads the `Repr-Digest` fields; `nil` when none of them is usable.
    package init?(_ headers: HeaderFields) {
        guard let text = headers["Repr-Digest"] else { return nil }
        self.init(text)
    }

    /// Reads a dictionary of byte sequences (RFC 9651, 3.2 and 3.3.5); of members with the same key the last one counts.
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

    /// Whether another response's digests are of the same representation beyond doubt.
    package func agrees(with other: [Checksum]) -> Bool { checksums.contains(where: other.contains) }

    /// Whether another response's digests are of another representation; digests of different algorithms tell nothing.
    package func contradicts(_ other: [Checksum]) -> Bool {
        checksums.contains { own in other.contains { $0.algorithm == own.algorithm && $0 != own } }
    }
}

extension Checksum {
    /// Reads the base64 of a structured field, whose padding may be left out; `nil` where the length is wrong.
    fileprivate init?(_ algorithm: Algorithm, base64: Substring) {
        let padding = String(repeating: "=", count: (4 - base64.utf8.count % 4) % 4)
        guard let digest = Data(base64Encoded: base64 + padding), digest.count == algorithm.byteCount
        else { return nil }
        self.init(algorithm: algorithm, hex: hexadecimal(digest))
    }
}

extension FieldScanner {
    /// Takes parameters, and values of other types, up to the comma before the next member or to the end.
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
