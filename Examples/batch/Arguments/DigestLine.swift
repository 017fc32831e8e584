internal import AsyncDownloads

/// A line of a list of digests, such as a file SHA256SUMS: a digest, and the name of a file.
///
/// There are two forms: `HEX  NAME` or `HEX *NAME`, as written by sha256sum(1) and sha512sum(1), where a backslash
/// before the line says that `\\`, `\n`, and `\r` in the name are escaped; and the BSD form, `SHA256 (NAME) = HEX`, which
/// openssl(1) writes as `SHA2-256(NAME)= HEX`.
struct DigestLine: Sendable, Hashable {
    let checksum: Checksum
    let name: String

    init(_ text: String) throws(Misuse) {
        let line = text.utf8.drop { $0 == UInt8(ascii: " ") }
        let isEscaped = line.first == UInt8(ascii: "\\")
        let content = isEscaped ? line.dropFirst() : line
        guard let (hex, written) = Self.tagged(content) ?? Self.plain(content), !written.isEmpty else {
            throw Misuse("a line has the form HEX  NAME, or SHA256 (NAME) = HEX")
        }
        let name = isEscaped ? Self.unescaped(written) : written
        let algorithm: Checksum.Algorithm = hex.utf8.count == 128 ? .sha512 : .sha256
        guard let checksum = Checksum("\(algorithm.rawValue)=\(hex)") else {
            throw Misuse("a digest is SHA-256 or SHA-512, with all of its hexadecimal digits")
        }
        self.checksum = checksum
        self.name = name
    }

    /// Splits a line of sha256sum(1).
    private static func plain(_ bytes: Substring.UTF8View) -> (hex: String, name: String)? {
        guard let space = bytes.firstIndex(where: { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }) else {
            return nil
        }
        var name = bytes[bytes.index(after: space)...]
        // The second character says how the file was read.
        if name.first == UInt8(ascii: " ") || name.first == UInt8(ascii: "*") { name = name.dropFirst() }
        return (String(decoding: bytes[..<space], as: UTF8.self), String(decoding: name, as: UTF8.self))
    }

    /// The starts of lines in the BSD form, and the bytes between the name and the digest.
    private static let tags = [
        ("SHA256 (", ") = "), ("SHA512 (", ") = "), ("SHA2-256(", ")= "), ("SHA2-512(", ")= "), ("SHA256(", ")= "),
        ("SHA512(", ")= "),
    ]

    /// Splits a line in the BSD form.
    private static func tagged(_ bytes: Substring.UTF8View) -> (hex: String, name: String)? {
        for (tag, separator) in tags where bytes.starts(with: tag.utf8) {
            let rest = Array(bytes.dropFirst(tag.utf8.count))
            // Unlike the digest, the name may contain the separator.
            let starts = rest.indices.dropLast(separator.utf8.count - 1).reversed()
            guard let end = starts.first(where: { rest[$0...].starts(with: separator.utf8) }) else { return nil }
            return (
                String(decoding: rest[(end + separator.utf8.count)...], as: UTF8.self).trimmingWhitespace(),
                String(decoding: rest[..<end], as: UTF8.self)
            )
        }
        return nil
    }

    private static func unescaped(_ name: String) -> String {
        var result = String.UnicodeScalarView()
        var scalars = name.unicodeScalars.makeIterator()
        while let scalar = scalars.next() {
            guard scalar == "\\", let escaped = scalars.next() else {
                result.append(scalar)
                continue
            }
            switch escaped {
            case "n": result.append("\n")
            case "r": result.append("\r")
            default: result.append(escaped)
            }
        }
        return String(result)
    }
}
