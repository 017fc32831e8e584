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

    /// Returns the single value of the fields with this name.
    ///
    /// Values are compared byte for byte, without surrounding white space.
    package func singleton(_ name: String) -> Singleton {
        let values = values(for: name)
        guard let first = values.first else { return .absent }
        let isRepeated = values.dropFirst().allSatisfy {
            $0.trimmingFieldWhitespace().hasSameBytes(as: first.trimmingFieldWhitespace())
        }
        return isRepeated ? .value(first) : .conflicting
    }
}
