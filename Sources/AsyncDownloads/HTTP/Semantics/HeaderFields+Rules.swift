extension HeaderFields {
    /// The lowercase names of the fields whose values are always public.
    ///
    /// These fields select a representation or describe how to treat the request, and don't identify the caller. Fields
    /// with other names count as secret, because each service has its own names for credentials.
    private static let publicNames: Set<String> = [
        "accept", "accept-language", "cache-control", "dnt", "pragma", "sec-gpc", "user-agent", "want-content-digest",
        "want-repr-digest",
    ]

    /// The lowercase names of the fields that are credentials by definition (RFC 9110, 11; RFC 6265).
    private static let credentialNames: Set<String> = ["authorization", "cookie", "proxy-authorization"]

    /// The lowercase names of the fields that only this package or its engines may set.
    package static let reservedNames: Set<String> = [
        "accept-encoding", "connection", "content-length", "expect", "host", "if-match", "if-modified-since",
        "if-none-match", "if-range", "if-unmodified-since", "range", "te", "trailer", "transfer-encoding", "upgrade",
    ]

    /// Returns whether a field of this name may be sent to other origins (rule 11), recorded on disk, and logged.
    ///
    /// - Parameters:
    ///   - name: The name of the field, in any case.
    ///   - nonsecretNames: The lowercase names that the caller has declared to be public.
    package static func isPublic(_ name: String, nonsecretNames: Set<String> = []) -> Bool {
        let name = name.asciiLowercased()
        return publicNames.contains(name) || nonsecretNames.contains(name) && !credentialNames.contains(name)
    }

    /// Returns whether a field of this name is a credential, which a caller can't declare to be public.
    static func isCredential(_ name: String) -> Bool { credentialNames.contains(name.asciiLowercased()) }

    /// Returns whether a field in a record may have been written by this package.
    ///
    /// The package never records malformed fields, credentials, or fields with reserved names.
    static func mayBeRecorded(_ name: String, _ value: String) -> Bool {
        let field = HeaderFields([(name: name, value: value)])
        return field.firstInvalidField() == nil && !isCredential(name) && !isReserved(name)
    }

    /// Returns whether only this package and its engines may set a field of this name.
    package static func isReserved(_ name: String) -> Bool {
        reservedNames.contains(name.asciiLowercased())
    }

    /// Returns the fields that may be sent to other origins, recorded, and logged; see ``isPublic(_:nonsecretNames:)``.
    package func publicFields(nonsecretNames: Set<String> = []) -> HeaderFields {
        HeaderFields(filter { Self.isPublic($0.name, nonsecretNames: nonsecretNames) })
    }

    /// Returns the fields that are sent to the request's origin only and kept in memory only.
    package func secretFields(nonsecretNames: Set<String> = []) -> HeaderFields {
        HeaderFields(filter { !Self.isPublic($0.name, nonsecretNames: nonsecretNames) })
    }

    /// The lowercase names of the fields that aren't on the package's own list of public names.
    ///
    /// If all fields are public, these are the names that a caller has declared as public.
    var declaredNames: Set<String> { Set(map { $0.name.asciiLowercased() }).subtracting(Self.publicNames) }

    /// Returns the first field that must not be sent and the reason; `nil` if all fields are well formed.
    ///
    /// A name must be a token (RFC 9110, 5.1), and a value must not contain a control character except `HTAB` (5.5): CR
    /// and LF would start another field, and engines handle them differently.
    package func firstInvalidField() -> (name: String, reason: String)? {
        for (name, value) in self {
            if name.isEmpty || !name.utf8.allSatisfy(\.isTokenCharacter) {
                return (name, "the name is not a token")
            }
            if value.utf8.contains(where: \.isForbiddenInFieldValue) {
                return (name, "the value contains a control character")
            }
        }
        return nil
    }

    /// A description of the first field that must not be sent, suitable for a log; `nil` if all are well formed.
    ///
    /// A malformed name isn't part of the description, because it may consist of lines that contain a secret.
    var firstFieldFault: String? {
        guard let (name, reason) = firstInvalidField() else { return nil }
        return name.utf8.allSatisfy(\.isTokenCharacter) ? "header \(name): \(reason)" : "invalid header: \(reason)"
    }

    /// Returns the trimmed, nonempty members of a comma-separated list of tokens (RFC 9110, 5.6.1.2).
    package func tokens(for name: String) -> [Substring] {
        values(for: name).flatMap { value in
            value.utf8.split(separator: UInt8(ascii: ",")).map { Substring($0).trimmingFieldWhitespace() }
        }.filter { !$0.isEmpty }
    }

    /// Whether the body has a transfer coding that no request has permitted, so that it can't be decoded (RFC 9112, 7).
    var hasUnknownTransferCoding: Bool {
        tokens(for: "Transfer-Encoding").contains {
            !$0.equalsIgnoringASCIICase("chunked") && !$0.equalsIgnoringASCIICase("identity")
        }
    }

    /// Whether the server declares that it doesn't support range requests (RFC 9110, 14.3).
    var refusesRanges: Bool { self["Accept-Ranges"]?.trimmingFieldWhitespace().equalsIgnoringASCIICase("none") == true }
}

extension HeaderFields {
    /// The value of a field that HTTP allows to have only one value (RFC 9110, 5.3).
    enum Singleton: Sendable, Hashable {
        /// No field has this name.
        case absent
        /// The field has this value; identical repetitions count once.
        case value(String)
        /// The field is repeated with different values.
        ///
        /// None of the values is trusted, because any of them may not be the server's intended value.
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
    func singleton(_ name: String) -> Singleton {
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
