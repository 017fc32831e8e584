/// The representation that all destinations of a transfer already have, according to their records.
struct ExistingRepresentation: Sendable, Hashable {
    /// The strong validator, which is sent as a condition.
    var validator: Validator
    /// The recorded metadata; the length and the media type identify a page that must not replace the files (rule 31).
    var representation: Representation
    /// Whether a response without a validator is inconclusive, because the files may have come from another URL (rule
    /// 10).
    var requiresValidator: Bool
}
