extension HeaderFields {
    /// The names, in lower case, of the fields whose values are no secret of the caller's.
    ///
    /// A list, since every service has names of its own for credentials. They select a representation or say how to treat
    /// the request, and hold nothing that identifies the caller.
    private static let publicNames: Set<String> = [
        "accept", "accept-language", "cache-control", "dnt", "pragma", "sec-gpc", "user-agent", "want-content-digest",
        "want-repr-digest",
    ]

    /// The names, in lower case, of the fields that are credentials by their definition (RFC 9110, 11; RFC 6265).
    private static let credentialNames: Set<String> = ["authorization", "cookie", "proxy-authorization"]

    /// The names, in lower case, of the fields that this package or its engines write and a caller may not set.
    package static let reservedNames: Set<String> = [
        "accept-encoding", "connection", "content-length", "expect", "host", "if-match", "if-modified-since",
        "if-none-match", "if-range", "if-unmodified-since", "range", "te", "trailer", "transfer-encoding", "upgrade",
    ]

    /// Whether a field of this name may cross origins (rule 11), be recorded on disk and be logged.
    ///
    /// - Parameter nonsecretNames: Further names, in lower case, that the caller has declared to be no secret.
    package static func isPublic(_ name: String, nonsecretNames: Set<String> = []) -> Bool {
        let name = name.asciiLowercased()
        return publicNames.contains(name) || nonsecretNames.contains(name) && !credentialNames.contains(name)
    }

    /// Whether a field of this name is a credential, whatever a caller says of it.
    package static func isCredential(_ name: String) -> Bool { credentialNames.contains(name.asciiLowercased()) }

    /// Whether a recorded field is one that this package may have recorded.
    package static func mayBeRecorded(_ name: String, _ value: String) -> Bool {
        let field = HeaderFields([(name: name, value: value)])
        return field.firstInvalidField() == nil && !isCredential(name) && !isReserved(name)
    }

    /// Whether a caller may not set a field of this name.
    package static func isReserved(_ name: String) -> Bool {
        reservedNames.contains(name.asciiLowercased())
    }

    /// The fields that may cross origins, be recorded and be logged; see ``isPublic(_:nonsecretNames:)``.
    package func publicFields(nonsecretNames: Set<String> = []) -> HeaderFields {
        HeaderFields(filter { Self.isPublic($0.name, nonsecretNames: nonsecretNames) })
    }

    /// The fields that stay with their origin and in memory.
    package func secretFields(nonsecretNames: Set<String> = []) -> HeaderFields {
        HeaderFields(filter { !Self.isPublic($0.name, nonsecretNames: nonsecretNames) })
    }

    /// The names, in lower case, of the fields that are public only because a caller has said so.
    package var declaredNames: Set<String> { Set(map { $0.name.asciiLowercased() }).subtracting(Self.publicNames) }

    /// The first field that must not be sent, and why; `nil` when all are well formed.
    ///
    /// A name is a token (RFC 9110, 5.1), and a value holds no control character except `HTAB` (5.5): CR and LF would
    /// start another field, and engines differ in what they do about it.
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

    /// What is wrong with that field, in words fit for a log; `nil` when all are well formed.
    ///
    /// What is no name is left out: it may be a whole line with a secret in it, or several lines.
    package var firstFieldFault: String? {
        guard let (name, reason) = firstInvalidField() else { return nil }
        return name.utf8.allSatisfy(\.isTokenCharacter) ? "header \(name): \(reason)" : "a header: \(reason)"
    }

    /// The members of a comma-separated list of tokens, trimmed, empty ones left out (RFC 9110, 5.6.1.2).
    package func tokens(for name: String) -> [Substring] {
        values(for: name).flatMap { value in
            value.utf8.split(separator: UInt8(ascii: ",")).map { Substring($0).trimmingFieldWhitespace() }
        }.filter { !$0.isEmpty }
    }
}
