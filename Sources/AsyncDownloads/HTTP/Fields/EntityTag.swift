/// An entity tag as the server wrote it (RFC 9110, 8.8.3).
package struct EntityTag: Sendable {
    /// The tag byte for byte as received, quotes and `W/` included (rule 4).
    package let rawValue: String

    /// Whether equal tags promise no more than equivalent content (RFC 9110, 8.8.1).
    package let isWeak: Bool

    /// Parses the value of an `ETag` field; fails for anything but one tag in quotes.
    ///
    /// Unquoted tags, which some servers send, fail: they could not be sent back in `If-Range` with any certainty. So do
    /// tags with U+FFFD, the trace of bytes that an engine could not decode: they cannot be sent back as received.
    package init?(_ text: String) {
        let text = text.trimmingFieldWhitespace()
        var scanner = FieldScanner(text)
        isWeak = scanner.take("W/")
        guard scanner.take("\"") else { return nil }
        _ = scanner.take(while: \.isEntityTagCharacter)
        guard scanner.take("\""), scanner.isAtEnd, !text.unicodeScalars.contains("\u{FFFD}") else { return nil }
        rawValue = String(text)
    }

    /// The strong comparison (RFC 9110, 8.8.3.2): the same bytes, and neither tag weak.
    package func stronglyMatches(_ other: EntityTag) -> Bool {
        !isWeak && !other.isWeak && self == other
    }
}

extension EntityTag: Hashable {
    /// Equality of the bytes; `String` would take canonically equivalent texts for equal.
    package static func == (left: EntityTag, right: EntityTag) -> Bool {
        left.rawValue.hasSameBytes(as: right.rawValue)
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(rawValue)
    }
}

extension UInt8 {
    /// An `etagc`: anything visible but a double quote, and bytes beyond ASCII.
    fileprivate var isEntityTagCharacter: Bool { self > 0x20 && self != UInt8(ascii: "\"") && self != 0x7F }
}
