extension HeaderFields {
    /// The value of a field that HTTP allows to have only one value (RFC 9110, 5.3).
    package enum Singleton: Sendable, Hashable {
        /// No field has this name.
        case absent
        /// The field has this value; identical repetitions count once.
        case value(String)
        /// The field is repeated with different values.
        ///
        /// It isn't known which value the server intended or who added the others, so none of them is trusted.
        case conflicting

        /// The value of the field; `nil` if the field is absent or has different values.
        package var value: String? {
            if case .value(let text) = self { text } else { nil }
        }
    }

    /// Returns the value of the first field with this name.
    package func first(_ name: String) -> String? { lazyValues(for: name).first { _ in true } }

    /// Returns the single value of the fields with this name.
    ///
    /// Values are compared byte for byte, without surrounding white space.
    package func singleton(_ name: String) -> Singleton {
        var values = lazyValues(for: name).makeIterator()
        guard let first = values.next() else { return .absent }
        while let other = values.next() {
            guard other.trimmingFieldWhitespace().hasSameBytes(as: first.trimmingFieldWhitespace()) else {
                return .conflicting
            }
        }
        return .value(first)
    }
}
