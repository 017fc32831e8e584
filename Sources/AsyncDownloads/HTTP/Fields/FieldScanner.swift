/// A scanner that reads the bytes of a field value once, from the beginning to the end.
///
/// Its methods consume what they read and never go back: a parser rejects the whole value if one of its steps fails.
struct FieldScanner {
    /// The largest position or length that is accepted: 2^62, so that arithmetic on accepted numbers doesn't overflow.
    ///
    /// RFC 9110, 14.1.2 requires that a parser expect large numbers. No file system supports files of half this size.
    static let maximumNumber: Int64 = 1 << 62

    private var rest: Substring.UTF8View

    init(_ text: some StringProtocol) {
        rest = Substring(text).utf8
    }

    /// Whether all bytes have been read.
    var isAtEnd: Bool { rest.isEmpty }

    /// Reads the given text if it comes next, and returns whether it does; bytes are compared.
    mutating func take(_ literal: StaticString) -> Bool {
        literal.withUTF8Buffer { bytes in
            guard rest.starts(with: bytes) else { return false }
            rest.removeFirst(bytes.count)
            return true
        }
    }

    /// Reads the next byte; `nil` at the end.
    mutating func takeByte() -> UInt8? {
        rest.popFirst()
    }

    /// Reads the bytes before the first one that doesn't meet the condition, which must not split a character.
    mutating func take(while isWanted: (UInt8) -> Bool) -> Substring {
        let end = rest.firstIndex { !isWanted($0) } ?? rest.endIndex
        defer { rest = rest[end...] }
        return Substring(rest[..<end])
    }

    /// Reads all remaining bytes.
    mutating func takeRest() -> Substring {
        take { _ in true }
    }

    /// Reads `1*DIGIT`; `nil` if there is no digit or the number is above ``maximumNumber``.
    mutating func takeNumber() -> Int64? {
        guard let number = Int64(take(while: \.isASCIIDigit)), number <= Self.maximumNumber else { return nil }
        return number
    }

    /// Reads all digits that come next; `nil` unless there are exactly as many as `digits`.
    mutating func takeNumber(digits: Int) -> Int? {
        let text = take(while: \.isASCIIDigit)
        return text.utf8.count == digits ? Int(text) : nil
    }

    /// Reads optional white space, and returns whether there was any (RFC 9110, 5.6.3).
    @discardableResult
    mutating func takeWhitespace() -> Bool {
        !take(while: \.isFieldWhitespace).isEmpty
    }
}
