/// The header fields that a caller supplies for a request, and the names of the fields that it has declared as public.
struct CallerHeaders: Sendable, Hashable {
    /// All header fields that the caller supplies.
    var fields: HeaderFields
    /// The lowercase names of the fields that the caller has declared to be public, besides the package's own list.
    let nonsecretNames: Set<String>
    /// The number of the closure that supplies additional fields, which are all secret; nil for none.
    var authorizer: Int?

    init(_ fields: HeaderFields = [:], nonsecretNames: Set<String> = [], authorizer: Int? = nil) {
        self.fields = fields
        self.nonsecretNames = Set(nonsecretNames.map { $0.asciiLowercased() })
        self.authorizer = authorizer
    }

    /// The fields that may be sent to other origins, recorded on disk, and logged.
    var publicFields: HeaderFields { fields.publicFields(nonsecretNames: nonsecretNames) }

    /// The fields that are sent to the request's origin only and kept in memory only.
    var secretFields: HeaderFields { fields.secretFields(nonsecretNames: nonsecretNames) }

    /// The fields by which the server identifies the user: the secret fields sorted by name and, if a closure supplies
    /// additional fields, a field with the closure's number, which is never sent.
    ///
    /// All tokens that one closure supplies over time belong to one user. Another closure, or a closure of a later
    /// process, may act for another user.
    var credentials: HeaderFields {
        var credentials = secretFields.sortedByName
        if let authorizer { credentials.append("\(authorizer)", for: ":authorize") }
        return credentials
    }
}

extension CallerHeaders: ExpressibleByDictionaryLiteral {
    init(dictionaryLiteral elements: (String, String)...) {
        self.init(HeaderFields(elements.map { (name: $0.0, value: $0.1) }))
    }
}
