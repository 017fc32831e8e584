/// The headers that a caller supplies for a request, and the names of those it has declared to be public.
struct CallerHeaders: Sendable, Hashable {
    /// All header fields that the caller supplies.
    var fields: HeaderFields
    /// The lowercase names of the fields that the caller has declared to be public, besides the package's own list.
    let nonsecretNames: Set<String>
    /// The number of the closure that supplies further fields, all of which are secret; nil for none.
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

    /// What stands for the user whose bytes these headers receive: the secret fields in the order of their names and, if a
    /// closure supplies further ones, a field that is never sent and that names the closure.
    ///
    /// The tokens that one closure supplies in the course of time are those of one user. Another closure, and one of a
    /// later process, may act for another user.
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
