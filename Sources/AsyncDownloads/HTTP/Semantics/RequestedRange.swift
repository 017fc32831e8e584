/// The bytes that an exchange requests, and the condition that the request contains.
struct RequestedRange: Sendable, Hashable {
    /// The condition under which the server sends the range.
    enum Condition: Sendable, Hashable {
        /// The request is unconditional.
        case none
        /// The server sends the range if the validator matches, otherwise the whole body (RFC 9110, 13.1.5).
        case ifRange(Validator)
        /// The server sends the range if the validator matches, otherwise 412 (RFC 9110, 13.1.1 and 13.1.4).
        case ifMatch(Validator)
        /// The server sends the representation unless the validator matches, otherwise 304 (RFC 9110, 13.1.2 and
        /// 13.1.3).
        case ifNoneMatch(Validator)
    }

    /// The requested range; `nil` for the whole representation, which is requested without a `Range` field.
    var range: ByteRange?
    /// The condition that the request contains.
    var condition: Condition

    /// The whole representation, without a condition.
    static let everything = Self(range: nil, condition: .none)

    /// The position of the first requested byte.
    var start: Int64 { range?.first ?? 0 }

    /// Whether the request contains the position of the last byte.
    var isBounded: Bool { range?.last != nil }

    /// Whether the server is asked to send the representation only if it has changed.
    var isRevalidation: Bool { if case .ifNoneMatch = condition { true } else { false } }

    /// Returns the range that continues a representation at `position`, in segments of `window` bytes if given.
    ///
    /// An unbounded request uses `If-Range`, because the whole body is useful if the object has changed. A bounded
    /// request uses `If-Match`: a whole body is useless for a segment in the middle, and the engine couldn't hold it
    /// back (rule 8). Without a condition, the response itself has to prove that it continues the bytes (rules 34 and
    /// 35).
    static func continuing(
        at position: Int64, validator: Validator?, window: Int64?, isConditional: Bool = true
    ) -> Self {
        guard position > 0 else {
            guard let window else { return .everything }
            return Self(range: ByteRange(first: 0, last: window - 1), condition: .none)
        }
        guard let validator else { return .everything }
        guard let window else {
            return Self(
                range: ByteRange(first: position, last: nil), condition: isConditional ? .ifRange(validator) : .none)
        }
        let (end, overflow) = position.addingReportingOverflow(window - 1)
        return Self(
            range: ByteRange(first: position, last: overflow ? nil : end),
            condition: isConditional ? .ifMatch(validator) : .none)
    }

    /// Returns the request for a part of a file (rule 8).
    ///
    /// - Parameters:
    ///   - range: The positions of the part.
    ///   - validator: The strong validator of the file; `nil` if the file has none, or if the server doesn't understand
    ///     the condition. In these cases, the response has to prove that it belongs to the same object.
    static func segment(_ range: Range<Int64>, validator: Validator?) -> Self {
        Self(
            range: ByteRange(first: range.lowerBound, last: range.upperBound - 1),
            condition: validator.map { .ifMatch($0) } ?? .none)
    }

    /// The header fields that request the range under the condition (rules 1 to 7, and 62).
    var fields: HeaderFields {
        var fields: HeaderFields = [:]
        if let range { fields["Range"] = range.headerValue }
        switch condition {
        case .none: break
        case .ifNoneMatch(.entityTag(let tag)): fields["If-None-Match"] = tag.rawValue
        case .ifNoneMatch(.lastModified(let date)): fields["If-Modified-Since"] = date
        // Rule 1: a condition is sent only with a range.
        case .ifRange where range == nil, .ifMatch where range == nil: break
        case .ifRange(let validator): fields["If-Range"] = validator.rawValue
        case .ifMatch(.entityTag(let tag)): fields["If-Match"] = tag.rawValue
        case .ifMatch(.lastModified(let date)): fields["If-Unmodified-Since"] = date
        }
        return fields
    }
}

/// A range of bytes to request: from a first to a last position, or to the end (RFC 9110, 14.1.2).
package struct ByteRange: Sendable, Hashable {
    /// The position of the first byte.
    package let first: Int64

    /// The position of the last byte, inclusive; `nil` for a range that extends to the end of the representation.
    package let last: Int64?

    /// Creates a range; `nil` if a position is negative or above 2^62, or if the last one precedes the first.
    package init?(first: Int64, last: Int64? = nil) {
        guard first >= 0, first <= last ?? first, last ?? first <= FieldScanner.maximumNumber else { return nil }
        self.first = first
        self.last = last
    }

    /// The value of a `Range` field for this range, such as `bytes=5-` or `bytes=5-9`.
    package var headerValue: String {
        "bytes=\(first)-\(last.map(String.init) ?? "")"
    }

    /// The number of bytes in the range, at least 1; `nil` for a range without a last position.
    package var length: Int64? {
        last.map { $0 - first + 1 }
    }
}
