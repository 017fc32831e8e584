/// An entity tag exactly as the server sent it (RFC 9110, 8.8.3).
package struct EntityTag: Sendable {
    /// The tag byte for byte as received, including quotation marks and `W/` (rule 4).
    package let rawValue: String

    /// Whether the tag is weak: equal weak tags promise only equivalent content, not equal bytes (RFC 9110, 8.8.1).
    package let isWeak: Bool

    /// Parses the value of an `ETag` field; `nil` unless it is a single tag in quotation marks.
    ///
    /// Tags without quotation marks, which some servers send, are rejected because a server may not recognize them in
    /// `If-Range`. Tags with U+FFFD are rejected because that character replaces bytes that an engine couldn't decode,
    /// so the tag can't be sent back as received.
    package init?(_ text: String) {
        let text = text.trimmingFieldWhitespace()
        var scanner = FieldScanner(text)
        isWeak = scanner.take("W/")
        guard scanner.take("\"") else { return nil }
        _ = scanner.take(while: \.isEntityTagCharacter)
        guard scanner.take("\""), scanner.isAtEnd, !text.unicodeScalars.contains("\u{FFFD}") else { return nil }
        rawValue = String(text)
    }

    /// Returns whether the tags have the same bytes and neither is weak: the strong comparison of RFC 9110, 8.8.3.2.
    package func stronglyMatches(_ other: EntityTag) -> Bool {
        !isWeak && !other.isWeak && self == other
    }
}

extension EntityTag: Hashable {
    /// Returns whether the tags have the same bytes; `String` would compare them by canonical equivalence.
    package static func == (left: EntityTag, right: EntityTag) -> Bool {
        left.rawValue.hasSameBytes(as: right.rawValue)
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(rawValue)
    }
}

extension UInt8 {
    /// Whether the byte is an `etagc`: a visible character other than a double quote, or a byte outside ASCII.
    fileprivate var isEntityTagCharacter: Bool { self > 0x20 && self != UInt8(ascii: "\"") && self != 0x7F }
}
