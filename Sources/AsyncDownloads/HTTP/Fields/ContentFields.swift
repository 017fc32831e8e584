/// The length of the body that a message declares (RFC 9110, 8.6).
package enum ContentLength: Sendable, Hashable {
    /// The body has this number of bytes.
    case value(Int64)
    /// The message declares no length.
    case absent
    /// The declared length isn't a number, is above 2^62, or has conflicting values; the body's end is unknown.
    case invalid

    /// Reads the `Content-Length` fields; repetitions of the same number, in several fields or in a list, are accepted.
    package init(_ headers: HeaderFields) {
        // Almost every response has one field with one number.
        if case .value(let field) = headers.singleton("Content-Length"), let number = Self.number(field[...]) {
            self = .value(number)
            return
        }
        let values = headers.values(for: "Content-Length").flatMap { value in
            value.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false).map(Substring.init)
        }
        let numbers = Set(values.map(Self.number))
        switch (numbers.count, numbers.first) {
        case (0, _): self = .absent
        case (1, .some(.some(let number))): self = .value(number)
        default: self = .invalid
        }
    }

    private static func number(_ text: Substring) -> Int64? {
        var scanner = FieldScanner(text.trimmingFieldWhitespace())
        let number = scanner.takeNumber()
        return scanner.isAtEnd ? number : nil
    }
}

/// The content codings of a body, other than identity (RFC 9110, 8.4).
///
/// Positions in a coded body are not positions in the file, so a response with a coding is never resumed (rule 28).
package struct ContentCoding: Sendable, Hashable, CustomStringConvertible {
    /// The names of the codings in the order they were applied, in lower case, joined by `", "`.
    package let description: String

    /// Reads the `Content-Encoding` fields; `nil` if the body has no coding other than identity.
    package init?(_ headers: HeaderFields) {
        let codings = headers.tokens(for: "Content-Encoding").map { Self.normalized($0) }.filter { $0 != "identity" }
        guard !codings.isEmpty else { return nil }
        description = codings.joined(separator: ", ")
    }

    /// Returns a coding's name in lower case, with an `x-` alias replaced (RFC 9110, 8.4.1.1 and 8.4.1.3).
    private static func normalized(_ name: Substring) -> String {
        switch name.asciiLowercased() {
        case "x-gzip": "gzip"
        case "x-compress": "compress"
        case let name: name
        }
    }
}

/// A media type without its parameters (RFC 9110, 8.3.1).
struct MediaType: Sendable, Hashable, CustomStringConvertible {
    /// The type, in lower case.
    let type: String
    /// The subtype, in lower case.
    let subtype: String

    /// Parses a text such as `Text/HTML; charset=utf-8`; `nil` if it isn't a media type.
    init?(_ text: String?) {
        guard let text else { return nil }
        var scanner = FieldScanner(text.prefix { $0 != ";" })
        scanner.takeWhitespace()
        let type = scanner.take(while: \.isTokenCharacter)
        guard !type.isEmpty, scanner.take("/") else { return nil }
        let subtype = scanner.take(while: \.isTokenCharacter)
        scanner.takeWhitespace()
        guard !subtype.isEmpty, scanner.isAtEnd else { return nil }
        (self.type, self.subtype) = (type.asciiLowercased(), subtype.asciiLowercased())
    }

    /// The type and the subtype, in lower case.
    var description: String { "\(type)/\(subtype)" }

    /// Whether a web page has this type.
    var isHTML: Bool { description == "text/html" || description == "application/xhtml+xml" }

    /// Returns whether a media range includes the type; `*` in the range matches any type or subtype (RFC 9110,
    /// 12.5.1).
    func isIn(_ range: Self) -> Bool {
        (range.type == "*" || range.type == type) && (range.subtype == "*" || range.subtype == subtype)
    }
}

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
