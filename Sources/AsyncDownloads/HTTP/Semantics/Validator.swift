/// What proves that bytes from two responses belong to one representation (RFC 9110, 8.8): always a strong validator.
package enum Validator: Sendable, Hashable {
    /// A strong entity tag.
    case entityTag(EntityTag)

    /// The text of a `Last-Modified` field, byte for byte as received (rule 4).
    case lastModified(String)

    /// How a response compares with a validator.
    package enum Match: Sendable, Hashable {
        /// The response is of the same representation.
        case same
        /// The response is of another representation, or its tag is weak and proves nothing.
        case different
        /// The response carries no validator of this kind.
        case absent
    }

    /// The text to send in `If-Range`, byte for byte as received (rule 4).
    package var rawValue: String {
        switch self {
        case .entityTag(let tag): tag.rawValue
        case .lastModified(let text): text
        }
    }

    /// The strong validator of a response; `nil` when it has none, and its bytes cannot be continued later.
    ///
    /// An `ETag` field settles the matter: when it is weak, malformed, repeated with another value or longer than 1 KiB, the
    /// date is not asked (rule 3).
    /// - Parameters:
    ///   - headers: The fields of a response that delivers the representation.
    ///   - now: When the response was received, for dates in the RFC 850 form; those are ignored without it.
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

    /// Whether a response with these fields is of the representation that this validator names.
    ///
    /// Tags are compared strongly (RFC 9110, 8.8.3.2), dates as text and then as instants. A field that is repeated with
    /// another value is of no representation.
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

    /// How `Last-Modified` compares with the text of an earlier one: as text first, then as an instant.
    package static func compareDate(
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

    /// The longest entity tag that is kept and sent back, in bytes.
    private static let longestTag = 1024

    /// The seconds by which `Date` must follow `Last-Modified` for the date to be strong (RFC 9110, 8.8.2.2); the
    /// RFC leaves it at one second on a server with one clock, browsers ask for a minute.
    private static let minimumAge: Int64 = 60
}

extension Validator {
    /// Reads the raw text, which tells the kinds apart: a tag has quotes and a date has none; nil for a weak tag.
    package init?(rawValue text: String) {
        // Any `now` will do to tell whether a text is a date.
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
    /// Decodes the raw text, as ``init(rawValue:)`` reads it.
    package init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        guard let validator = Validator(rawValue: text) else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "Not a strong validator"))
        }
        self = validator
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rawValue)
    }
}
