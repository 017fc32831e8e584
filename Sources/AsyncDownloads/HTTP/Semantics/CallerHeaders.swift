/// The headers that a caller wants sent, and which of them are no secret.
struct CallerHeaders: Sendable, Hashable {
    var fields: HeaderFields
    /// The names, in lower case, of the fields off the package's own list that the caller has declared to be no secret.
    let nonsecretNames: Set<String>

    init(_ fields: HeaderFields = [:], nonsecretNames: Set<String> = []) {
        self.fields = fields
        self.nonsecretNames = Set(nonsecretNames.map { $0.asciiLowercased() })
    }

    /// The fields that may cross origins, be recorded and be logged.
    var publicFields: HeaderFields { fields.publicFields(nonsecretNames: nonsecretNames) }

    /// The fields that stay with their origin and in memory.
    var secretFields: HeaderFields { fields.secretFields(nonsecretNames: nonsecretNames) }
}

extension CallerHeaders: ExpressibleByDictionaryLiteral {
    init(dictionaryLiteral elements: (String, String)...) {
        self.init(HeaderFields(elements.map { (name: $0.0, value: $0.1) }))
    }
}
