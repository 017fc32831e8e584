/// What part of a representation a response holds (RFC 9110, 14.4).
package enum ContentRange: Sendable, Hashable {
    /// The body is these bytes, of a whole of this length; `nil` where the server wrote `*`, for unknown.
    case satisfied(ClosedRange<Int64>, completeLength: Int64?)

    /// No byte can be served; the whole has this length. Comes with 416.
    case unsatisfied(completeLength: Int64)

    /// Reads the `Content-Range` field; `nil` as well when there is none, or several that differ.
    package init?(_ headers: HeaderFields) {
        guard let text = headers.singleton("Content-Range").value else { return nil }
        self.init(text)
    }

    /// Parses the value of a `Content-Range` field.
    ///
    /// Fails, and the response must not be combined with anything, when the unit is not `bytes`, the last position is
    /// before the first, the complete length is not beyond the last position, a number is huge, or there are several
    /// values.
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
