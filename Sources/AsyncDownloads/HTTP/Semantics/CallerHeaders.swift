/// The headers that a caller supplies for a request, and the names of those it has declared to be public.
struct CallerHeaders: Sendable, Hashable {
    /// All header fields that the caller supplies.
    var fields: HeaderFields
    /// The lowercase names of the fields that the caller has declared to be public, besides the package's own list.
    let nonsecretNames: Set<String>

    init(_ fields: HeaderFields = [:], nonsecretNames: Set<String> = []) {
        self.fields = fields
        self.nonsecretNames = Set(nonsecretNames.map { $0.asciiLowercased() })
    }

    /// The fields that may be sent to other origins, recorded on disk, and logged.
    var publicFields: HeaderFields { fields.publicFields(nonsecretNames: nonsecretNames) }

    /// The fields that are sent to the request's origin only and kept in memory only.
    var secretFields: HeaderFields { fields.secretFields(nonsecretNames: nonsecretNames) }
}

extension CallerHeaders: ExpressibleByDictionaryLiteral {
    init(dictionaryLiteral elements: (String, String)...) {
        self.init(HeaderFields(elements.map { (name: $0.0, value: $0.1) }))
    }
}
