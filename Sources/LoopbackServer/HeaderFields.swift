/// Header fields in their order on the wire; names keep their case and are compared case-insensitively.
package struct HeaderFields: Sendable, Hashable, ExpressibleByDictionaryLiteral {
    /// A field with its name and its value.
    package struct Field: Sendable, Hashable {
        package var name: String
        package var value: String
    }

    /// The fields in their order on the wire.
    package private(set) var fields: [Field] = []

    package init() {}

    package init(dictionaryLiteral elements: (String, String)...) {
        fields = elements.map { Field(name: $0.0, value: $0.1) }
    }

    /// The value of the field with this name; the values of several fields are joined with a comma.
    ///
    /// Setting a value replaces all fields with the name; `nil` removes them.
    package subscript(name: String) -> String? {
        get {
            let values = fields.filter { $0.isNamed(name) }.map(\.value)
            return values.isEmpty ? nil : values.joined(separator: ", ")
        }
        set {
            fields.removeAll { $0.isNamed(name) }
            if let newValue { append(name, newValue) }
        }
    }

    /// Adds a field even if a field with the same name exists.
    package mutating func append(_ name: String, _ value: String) {
        fields.append(Field(name: name, value: value))
    }

    /// Replaces all fields whose names occur in `other` by the fields of `other`.
    package mutating func set(_ other: HeaderFields) {
        for name in Set(other.fields.map { $0.name.lowercased() }) { self[name] = nil }
        fields += other.fields
    }
}

extension HeaderFields.Field {
    fileprivate func isNamed(_ other: String) -> Bool {
        name.lowercased() == other.lowercased()
    }
}
