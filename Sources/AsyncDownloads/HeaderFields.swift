/// The header fields of a request or a response, as an ordered list of names and values.
///
/// Names are compared without regard to ASCII case, and a name may occur more than once (RFC 9110, 5.2 and 5.3). Two
/// lists are equal if they contain the same names, ignoring case, with the same values, byte for byte, in the same
/// order.
///
/// ```swift
/// var headers: HeaderFields = ["Authorization": "Bearer abc", "Accept": "text/csv"]
/// headers["accept"] = "application/json"
/// headers.append("en", for: "Accept-Language")
/// ```
public struct HeaderFields: Sendable {
    private var fields: [(name: String, value: String)]

    /// Creates an empty list.
    public init() {
        fields = []
    }

    /// Creates a list of the given fields in their order, including duplicates.
    public init(_ fields: some Sequence<(name: String, value: String)>) {
        self.fields = Array(fields)
    }

    /// The number of fields, counting every occurrence of a repeated name.
    public var count: Int { fields.count }

    /// A Boolean value that indicates whether the list has no fields.
    public var isEmpty: Bool { fields.isEmpty }

    /// The value of the field with this name; values of a repeated name are joined by `", "` (RFC 9110, 5.3).
    ///
    /// The getter returns `nil` if no field has this name. The setter puts the value where the name first occurred, or
    /// at the end, and removes all other occurrences; setting `nil` removes every occurrence.
    public subscript(name: String) -> String? {
        get {
            var values = lazyValues(for: name).makeIterator()
            guard var joined = values.next() else { return nil }
            while let value = values.next() { joined += ", " + value }
            return joined
        }
        set {
            let position = fields.firstIndex { $0.name.equalsIgnoringASCIICase(name) }
            guard let newValue, let position else {
                if let newValue { return fields.append((name, newValue)) }
                return fields.removeAll { $0.name.equalsIgnoringASCIICase(name) }
            }
            fields[position] = (name, newValue)
            while let other = fields.lastIndex(where: { $0.name.equalsIgnoringASCIICase(name) }), other > position {
                fields.remove(at: other)
            }
        }
    }

    /// Returns the values of all fields with this name, in order.
    public func values(for name: String) -> [String] { Array(lazyValues(for: name)) }

    /// The values of all fields with this name, in order.
    func lazyValues(for name: String) -> some Sequence<String> {
        fields.lazy.filter { $0.name.equalsIgnoringASCIICase(name) }.map(\.value)
    }

    /// Reserves memory for this number of fields.
    mutating func reserveCapacity(_ count: Int) {
        fields.reserveCapacity(count)
    }

    /// Appends a field, and keeps existing fields with the same name.
    public mutating func append(_ value: String, for name: String) {
        fields.append((name, value))
    }
}

extension HeaderFields: Sequence {
    /// Returns an iterator over the fields in their order, including duplicates.
    public func makeIterator() -> IndexingIterator<[(name: String, value: String)]> {
        fields.makeIterator()
    }
}

extension HeaderFields: ExpressibleByDictionaryLiteral {
    /// Creates a list of the literal's fields in their order; a name may be repeated.
    public init(dictionaryLiteral elements: (String, String)...) {
        fields = elements.map { (name: $0.0, value: $0.1) }
    }
}

extension HeaderFields: Hashable {
    /// Returns whether two lists have the same fields; names ignore case, and values are compared byte for byte.
    public static func == (left: HeaderFields, right: HeaderFields) -> Bool {
        left.fields.elementsEqual(right.fields) {
            $0.name.equalsIgnoringASCIICase($1.name) && $0.value.hasSameBytes(as: $1.value)
        }
    }

    /// Hashes the properties that `==` compares.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(fields.count)
        for field in fields {
            hasher.combine(field.name.asciiLowercased())
            hasher.combine(ByteText(field.value))
        }
    }
}

extension HeaderFields: CustomStringConvertible {
    /// The fields in one line that is fit for a log.
    ///
    /// Only the values of headers that are nonsecret by default are shown (``DownloadRequest/headers``), and control
    /// characters are escaped. A name that isn't a token (RFC 9110, 5.1) may be a whole header line that contains a
    /// secret, so only its beginning is shown.
    public var description: String { "[\(fields.map(Self.line).joined(separator: ", "))]" }

    private static func line(_ field: (name: String, value: String)) -> String {
        let token = String(decoding: field.name.utf8.prefix(while: \.isTokenCharacter), as: UTF8.self)
        guard !token.isEmpty, token.utf8.count == field.name.utf8.count else { return "\(token)…: <redacted>" }
        return "\(token): \(isPublic(token) ? field.value.escapingControls : "<redacted>")"
    }
}

extension HeaderFields: CustomReflectable {
    /// A mirror without children, because the values may be secrets; see ``description``.
    public var customMirror: Mirror { .opaque(self) }
}

extension String {
    /// The text with escapes in place of characters that could end a line or control a terminal.
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
