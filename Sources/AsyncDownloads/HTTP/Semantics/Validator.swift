/// A strong validator, which proves that the bytes of two responses belong to one representation (RFC 9110, 8.8).
package enum Validator: Sendable, Hashable {
    /// A strong entity tag.
    case entityTag(EntityTag)

    /// The text of a `Last-Modified` field, byte for byte as received (rule 4).
    case lastModified(String)

    /// The result of comparing the fields of a response with a validator.
    package enum Match: Sendable, Hashable {
        /// The response belongs to the same representation.
        case same
        /// The response belongs to another representation, or its validator is weak, malformed, or contradictory.
        case different
        /// The response has no validator of this kind.
        case absent
    }

    /// The text to send in `If-Range`, byte for byte as received (rule 4).
    package var rawValue: String {
        switch self {
        case .entityTag(let tag): tag.rawValue
        case .lastModified(let text): text
        }
    }

    /// Returns the strong validator of a response; `nil` if it has none, so that its bytes can't be resumed later.
    ///
    /// The date is used only if the response has no `ETag` field at all. A tag that is weak, malformed, repeated with
    /// another value, or longer than 1 KiB also excludes the date (rule 3).
    ///
    /// - Parameters:
    ///   - headers: The fields of a response that delivers the representation.
    ///   - now: The time when the response was received. Without it, dates in the RFC 850 form are ignored.
    package static func strong(in headers: HeaderFields, receivedAt now: HTTPDate? = nil) -> Validator? {
        switch headers.singleton("ETag") {
        case .absent:
            break
        case .conflicting:
            return nil
        case .value(let text):
            guard let tag = EntityTag(text), !tag.isWeak, tag.rawValue.utf8.count <= longestTag else { return nil }
            return .entityTag(tag)
        }
        guard let text = headers.singleton("Last-Modified").value, let lastModified = HTTPDate(text, now: now),
            let date = headers.singleton("Date").value.flatMap({ HTTPDate($0, now: now) }),
            date.seconds(since: lastModified) >= minimumAge
        else { return nil }
        return .lastModified(String(text.trimmingFieldWhitespace()))
    }

    /// Returns whether a response with these fields belongs to the representation that this validator identifies.
    ///
    /// Tags are compared by the strong comparison (RFC 9110, 8.8.3.2), dates first as text and then as instants. A
    /// field that is repeated with another value counts as different.
    package func matches(_ headers: HeaderFields, receivedAt now: HTTPDate? = nil) -> Match {
        switch self {
        case .entityTag(let tag):
            switch headers.singleton("ETag") {
            case .absent: return .absent
            case .conflicting: return .different
            case .value(let text): return EntityTag(text).map(tag.stronglyMatches) == true ? .same : .different
            }
        case .lastModified(let expected):
            return Self.compareDate(of: headers, with: expected, receivedAt: now)
        }
    }

    /// Compares the `Last-Modified` field with the field of an earlier response, first as text and then as an instant.
    static func compareDate(
        of headers: HeaderFields, with expected: String, receivedAt now: HTTPDate? = nil
    ) -> Match {
        switch headers.singleton("Last-Modified") {
        case .absent:
            return .absent
        case .conflicting:
            return .different
        case .value(let text):
            if text.trimmingFieldWhitespace().hasSameBytes(as: expected.trimmingFieldWhitespace()) { return .same }
            guard let instant = HTTPDate(text, now: now) else { return .different }
            return instant == HTTPDate(expected, now: now) ? .same : .different
        }
    }

    /// The length limit in bytes for an entity tag that is recorded and sent back.
    private static let longestTag = 1024

    /// The number of seconds between `Last-Modified` and `Date` from which a modification date counts as strong.
    ///
    /// RFC 9110, 8.8.2.2 permits one second if both dates come from the same clock, which a client can't know. Browsers
    /// require a minute.
    private static let minimumAge: Int64 = 60
}

extension Validator {
    /// Creates a validator from its raw text; `nil` if the text is neither a strong entity tag nor a date.
    ///
    /// Tags and dates can't be confused: only a tag has quotation marks.
    package init?(rawValue text: String) {
        // Whether the text is a date doesn't depend on `now`.
        if let tag = EntityTag(text), !tag.isWeak {
            self = .entityTag(tag)
        } else if HTTPDate(text, now: HTTPDate(secondsSinceEpoch: 0)) != nil {
            self = .lastModified(text)
        } else {
            return nil
        }
    }
}

extension Validator: Codable {
    /// Decodes the raw text; see ``init(rawValue:)``.
    package init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        guard let validator = Validator(rawValue: text) else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "not a strong validator"))
        }
        self = validator
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rawValue)
    }
}

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
