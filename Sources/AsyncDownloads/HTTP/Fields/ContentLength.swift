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
