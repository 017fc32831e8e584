/// The part of a representation that a response contains (RFC 9110, 14.4).
package enum ContentRange: Sendable, Hashable {
    /// The body contains these bytes of a representation; its length is `nil` if the server sent `*` for unknown.
    case satisfied(ClosedRange<Int64>, completeLength: Int64?)

    /// The server can't satisfy the range (416); the representation has this length.
    case unsatisfied(completeLength: Int64)

    /// Reads the `Content-Range` field; `nil` if it is missing, malformed, or repeated with a different value.
    package init?(_ headers: HeaderFields) {
        guard let text = headers.singleton("Content-Range").value else { return nil }
        self.init(text)
    }

    /// Parses the value of a `Content-Range` field.
    ///
    /// The result is `nil` if the unit isn't `bytes`, the last position precedes the first, the complete length isn't
    /// greater than the last position, a number is above 2^62, or the field has several values. The body of such a
    /// response must not be combined with other bytes.
    package init?(_ text: String) {
        var scanner = FieldScanner(text.trimmingFieldWhitespace())
        guard scanner.take(while: \.isTokenCharacter).equalsIgnoringASCIICase("bytes"), scanner.takeWhitespace() else {
            return nil
        }
        guard let range = scanner.take("*") ? .unsatisfied(&scanner) : Self.satisfied(&scanner), scanner.isAtEnd else {
            return nil
        }
        self = range
    }

    private static func unsatisfied(_ scanner: inout FieldScanner) -> ContentRange? {
        guard scanner.take("/"), let completeLength = scanner.takeNumber() else { return nil }
        return .unsatisfied(completeLength: completeLength)
    }

    private static func satisfied(_ scanner: inout FieldScanner) -> ContentRange? {
        guard let first = scanner.takeNumber(), scanner.take("-"),
            let last = scanner.takeNumber(), scanner.take("/"), first <= last
        else { return nil }
        if scanner.take("*") { return .satisfied(first...last, completeLength: nil) }
        guard let completeLength = scanner.takeNumber(), last < completeLength else { return nil }
        return .satisfied(first...last, completeLength: completeLength)
    }
}
