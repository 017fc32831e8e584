/// The length of the body that a message declares (RFC 9110, 8.6).
package enum ContentLength: Sendable, Hashable {
    /// The body has this number of bytes.
    case value(Int64)
    /// The message declares no length.
    case absent
    /// The declared length isn't a number, is above 2^62, or is several different numbers; the body's end is unknown.
    case invalid

    /// Reads the `Content-Length` fields; a number that is repeated, in several fields or in a list, counts once.
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
