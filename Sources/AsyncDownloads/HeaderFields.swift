/// The header fields of a request or a response: an ordered list of names and values.
///
/// Names are compared without regard to ASCII case, and a name may occur more than once (RFC 9110, 5.2 and 5.3).
/// Two lists are equal when they hold the same names, ignoring case, and byte for byte the same values, in the same order.
///
/// ```swift
/// var headers: HeaderFields = ["Authorization": "Bearer abc", "Accept": "text/csv"]
/// headers["accept"] = "application/json"
/// headers.append("en", for: "Accept-Language")
/// ```
public struct HeaderFields: Sendable {
    private var fields: [(name: String, value: String)]

    /// Makes an empty list.
    public init() {
        fields = []
    }

    /// Makes a list of the given fields, in their order, duplicates included.
    public init(_ fields: some Sequence<(name: String, value: String)>) {
        self.fields = Array(fields)
    }

    /// The number of fields, where every occurrence of a repeated name counts.
    public var count: Int { fields.count }

    /// Whether there is no field at all.
    public var isEmpty: Bool { fields.isEmpty }

    /// The value of the field with this name; values of a repeated name are joined by `", "` (RFC 9110, 5.3).
    ///
    /// Reading yields `nil` when there is no such field. Writing puts the value where the name first occurred, or at the
    /// end, and drops the other occurrences; writing `nil` removes every occurrence.
    public subscript(name: String) -> String? {
        get {
            let values = values(for: name)
            return values.isEmpty ? nil : values.joined(separator: ", ")
        }
        set {
            let position = fields.firstIndex { $0.name.equalsIgnoringASCIICase(name) } ?? fields.endIndex
            fields.removeAll { $0.name.equalsIgnoringASCIICase(name) }
            if let newValue { fields.insert((name, newValue), at: position) }
        }
    }

    /// The values of every field with this name, in order; empty when there is none.
    public func values(for name: String) -> [String] {
        fields.compactMap { $0.name.equalsIgnoringASCIICase(name) ? $0.value : nil }
    }

    /// Adds a field at the end, keeping those that already have this name.
    public mutating func append(_ value: String, for name: String) {
        fields.append((name, value))
    }
}

extension HeaderFields: Sequence {
    /// Walks the fields in their order, duplicates included.
    public func makeIterator() -> IndexingIterator<[(name: String, value: String)]> {
        fields.makeIterator()
    }
}

extension HeaderFields: ExpressibleByDictionaryLiteral {
    /// Makes a list of the literal's fields in their order; a name may be repeated.
    public init(dictionaryLiteral elements: (String, String)...) {
        fields = elements.map { (name: $0.0, value: $0.1) }
    }
}

extension HeaderFields: Hashable {
    /// Compares names without regard to case, and values byte for byte.
    public static func == (left: HeaderFields, right: HeaderFields) -> Bool {
        left.fields.elementsEqual(right.fields) {
            $0.name.equalsIgnoringASCIICase($1.name) && $0.value.hasSameBytes(as: $1.value)
        }
    }

    /// Hashes what `==` compares.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(fields.count)
        for field in fields {
            hasher.combine(field.name.asciiLowercased())
            hasher.combine(field.value)
        }
    }
}

extension HeaderFields: CustomStringConvertible {
    /// The fields as one line fit for a log.
    ///
    /// Only the values that are public without further declaration are shown (``DownloadRequest/headers``), and control
    /// characters are escaped. A name that is not a token (RFC 9110, 5.1) may be a whole line with a secret in it, so that only its beginning is shown.
    public var description: String { "[\(fields.map(Self.line).joined(separator: ", "))]" }

    private static func line(_ field: (name: String, value: String)) -> String {
        let token = String(decoding: field.name.utf8.prefix(while: \.isTokenCharacter), as: UTF8.self)
        guard !token.isEmpty, token.utf8.count == field.name.utf8.count else { return "\(token)…: <redacted>" }
        return "\(token): \(isPublic(token) ? field.value.escapingControls : "<redacted>")"
    }
}

extension HeaderFields: CustomReflectable {
    /// A mirror without children, since values may be secrets; see ``description``.
    public var customMirror: Mirror { .opaque(self) }
}

extension String {
    /// The text with escapes in place of what could end a line or steer a terminal.
    fileprivate var escapingControls: String {
        unicodeScalars.map { scalar in
            switch scalar {
            case "\n": return "\\n"
            case "\r": return "\\r"
            case "\t": return "\\t"
            default: break
            }
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator:
                return "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
            default:
                return String(scalar)
            }
        }.joined()
    }
}
