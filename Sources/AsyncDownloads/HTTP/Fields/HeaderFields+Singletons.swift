extension HeaderFields {
    /// What the fields of one name say, where HTTP allows that name a single value (RFC 9110, 5.3).
    package enum Singleton: Sendable, Hashable {
        /// No field has this name.
        case absent
        /// The fields have one value; identical repetitions count once.
        case value(String)
        /// The fields have different values. Nothing tells which of them the server meant, or who added the others, so
        /// none of them is trusted.
        case conflicting

        /// The value; `nil` where no field has the name, and where the fields have different values.
        package var value: String? {
            if case .value(let text) = self { text } else { nil }
        }
    }

    /// What the fields of this name say; values are compared byte for byte, without the white space around them.
    package func singleton(_ name: String) -> Singleton {
        let values = values(for: name)
        guard let first = values.first else { return .absent }
        let isRepeated = values.dropFirst().allSatisfy {
            $0.trimmingFieldWhitespace().hasSameBytes(as: first.trimmingFieldWhitespace())
        }
        return isRepeated ? .value(first) : .conflicting
    }
}
