/// The file name that a response suggests (RFC 6266).
///
/// The parser accepts common deviations whose meaning is clear: a missing type, spaces anywhere, unquoted values with
/// spaces, raw UTF-8, and a missing closing quotation mark. The name is untrusted text; see ``FileName/sanitized(_:)``.
package struct ContentDisposition: Sendable, Hashable {
    /// The suggested name, not sanitized: the value of `filename*` if it can be decoded, otherwise of `filename`.
    package let suggestedFileName: String?

    /// Reads the first `Content-Disposition` field; `nil` if there is no such field.
    package init?(_ headers: HeaderFields) {
        guard let text = headers.first("Content-Disposition") else { return nil }
        self.init(text)
    }

    /// Parses the value of a `Content-Disposition` field.
    ///
    /// If several parameters have the same name, the first one is used.
    package init(_ text: String) {
        var scanner = FieldScanner(text)
        var plain: String?
        var extended: String?
        repeat {
            scanner.takeWhitespace()
            let name = scanner.take(while: \.isTokenCharacter)
            scanner.takeWhitespace()
            if scanner.take("=") {
                let value = scanner.takeParameterValue()
                if plain == nil, name.equalsIgnoringASCIICase("filename") { plain = value }
                if extended == nil, name.equalsIgnoringASCIICase("filename*") { extended = value }
            }
            _ = scanner.take { $0 != UInt8(ascii: ";") }
        } while scanner.take(";")
        let names = [extended.flatMap(Self.decodingExtendedValue), plain]
        suggestedFileName = names.compactMap(\.self).first { !$0.isEmpty }
    }

    /// Decodes an extended value, `charset'language'percent-encoded` (RFC 8187, 3.2.1).
    private static func decodingExtendedValue(_ text: String) -> String? {
        var scanner = FieldScanner(text)
        let charset = scanner.take { $0 != UInt8(ascii: "'") }
        guard scanner.take("'") else { return nil }
        _ = scanner.take { $0 != UInt8(ascii: "'") }
        guard scanner.take("'"), let bytes = PercentEncoding.bytes(scanner.takeRest()) else { return nil }
        if charset.equalsIgnoringASCIICase("UTF-8") {
            return String(wellFormedUTF8: bytes)
        }
        if charset.equalsIgnoringASCIICase("ISO-8859-1") {
            return String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
        }
        return nil
    }
}

extension FieldScanner {
    /// Reads the content of a quoted string (RFC 9110, 5.6.4), or an unquoted value.
    ///
    /// An unquoted value ends before the next semicolon.
    fileprivate mutating func takeParameterValue() -> String {
        takeWhitespace()
        guard take("\"") else {
            return String(take { $0 != UInt8(ascii: ";") }.droppingSecondField.trimmingFieldWhitespace())
        }
        var bytes: [UInt8] = []
        while let byte = takeByte(), byte != UInt8(ascii: "\"") {
            if byte == UInt8(ascii: "\\") {
                if let escaped = takeByte() { bytes.append(escaped) }
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension Substring {
    /// The text without the beginning of a second field that an engine has joined to it, as in `a.txt, attachment`.
    ///
    /// A file name may contain a comma, so the text is cut only if nothing but a disposition type follows the comma.
    fileprivate var droppingSecondField: Substring {
        guard let comma = utf8.lastIndex(of: UInt8(ascii: ",")) else { return self }
        let rest = self[utf8.index(after: comma)...].trimmingFieldWhitespace()
        let isType = ["attachment", "inline", "form-data"].contains { rest.equalsIgnoringASCIICase($0) }
        return isType ? self[..<comma] : self
    }
}
