/// A media type without its parameters (RFC 9110, 8.3.1).
struct MediaType: Sendable, Hashable, CustomStringConvertible {
    /// The type, in lower case.
    let type: String
    /// The subtype, in lower case.
    let subtype: String

    /// Parses a text such as `Text/HTML; charset=utf-8`; `nil` if it isn't a media type.
    init?(_ text: String?) {
        guard let text else { return nil }
        var scanner = FieldScanner(Substring(text.utf8.prefix { $0 != UInt8(ascii: ";") }))
        scanner.takeWhitespace()
        let type = scanner.take(while: \.isTokenCharacter)
        guard !type.isEmpty, scanner.take("/") else { return nil }
        let subtype = scanner.take(while: \.isTokenCharacter)
        scanner.takeWhitespace()
        guard !subtype.isEmpty, scanner.isAtEnd else { return nil }
        (self.type, self.subtype) = (type.asciiLowercased(), subtype.asciiLowercased())
    }

    /// The type and the subtype, in lower case.
    var description: String { "\(type)/\(subtype)" }

    /// Whether a web page has this type.
    var isHTML: Bool {
        type == "text" && subtype == "html" || type == "application" && subtype == "xhtml+xml"
    }

    /// Returns whether a media range includes the type; `*` in the range matches any type or subtype (RFC 9110,
    /// 12.5.1).
    func isIn(_ range: Self) -> Bool {
        (range.type == "*" || range.type == type) && (range.subtype == "*" || range.subtype == subtype)
    }
}
