extension HeaderFields {
    /// The words, in lower case, that make a field's name one that says who is asking (`X-Api-Key`, `Private-Token`).
    private static let credentialWords: Set<Substring> = [
        "apikey", "auth", "authentication", "authorization", "cookie", "cookie2", "credential", "credentials", "key",
        "passwd", "password", "secret", "session", "sessionid", "signature", "token",
    ]

    /// The names, in lower case, of the fields that this package or its engines write and a caller may not set.
    package static let reservedNames: Set<String> = [
        "accept-encoding", "connection", "content-length", "expect", "host", "if-match", "if-modified-since",
        "if-none-match", "if-range", "if-unmodified-since", "range", "te", "trailer", "transfer-encoding", "upgrade",
    ]

    /// Whether a field of this name says who is asking: it does not cross origins (rule 11), is not kept on disk, and
    /// stays out of logs.
    ///
    /// Servers have names of their own for it, so words decide; to hold back one too many costs a caller an error, and
    /// to send one too many costs a secret.
    package static func isCredential(_ name: String) -> Bool {
        name.asciiLowercased().split { $0 == "-" || $0 == "_" }.contains(where: credentialWords.contains)
    }

    /// Whether a caller may not set a field of this name.
    package static func isReserved(_ name: String) -> Bool {
        reservedNames.contains(name.asciiLowercased())
    }

    /// The same fields without those that must not cross origins (rule 11).
    package func withoutCredentials() -> HeaderFields {
        HeaderFields(filter { !Self.isCredential($0.name) })
    }

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
