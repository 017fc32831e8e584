/// Which bytes an exchange asks for, and under which condition.
package struct RequestedRange: Sendable, Hashable {
    /// What makes the server refuse, or send everything, when the representation has changed.
    package enum Condition: Sendable, Hashable {
        case none
        /// RFC 9110, 13.1.5: the range if it is the same, else everything.
        case ifRange(Validator)
        /// RFC 9110, 13.1.1 and 13.1.4: the range if it is the same, else 412.
        case ifMatch(Validator)
    }

    /// The range, or nil for the whole representation without a Range field.
    package var range: ByteRange?
    package var condition: Condition

    /// The whole representation, whatever it is.
    package static let everything = Self(range: nil, condition: .none)

    /// Where the body is to begin.
    package var start: Int64 { range?.first ?? 0 }

    /// Whether the request names the last byte that it wants.
    package var isBounded: Bool { range?.last != nil }

    /// What continues a representation at `position`, in windows of `window` bytes if given.
    ///
    /// An unbounded request uses If-Range, since the whole body is welcome when the object has changed. A bounded one
    /// uses If-Match: a whole body cannot be held back there, and is useless for a middle part (rule 8). Without a
    /// condition either, what answers has to prove itself what it is (rules 34 and 35).
    package static func continuing(
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

    /// The fields that ask for it (rules 1 to 7).
    package var fields: HeaderFields {
        var fields: HeaderFields = [:]
        guard let range else { return fields }
        fields["Range"] = range.headerValue
        switch condition {
        case .none: break
        case .ifRange(let validator): fields["If-Range"] = validator.rawValue
        case .ifMatch(.entityTag(let tag)): fields["If-Match"] = tag.rawValue
        case .ifMatch(.lastModified(let date)): fields["If-Unmodified-Since"] = date
        }
        return fields
    }
}
