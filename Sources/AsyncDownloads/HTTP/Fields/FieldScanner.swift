/// A position in a field value, moving forward over its bytes once.
///
/// Whatever a method takes is gone; a parser whose step fails gives up, so nothing needs to be put back.
struct FieldScanner {
    /// The largest position or length that is believed: 2^62, so that the sum of two of them cannot overflow.
    ///
    /// RFC 9110, 14.1.2 wants large numbers anticipated; no file system holds a file of half this size.
    static let maximumNumber: Int64 = 1 << 62

    private var rest: Substring.UTF8View

    init(_ text: some StringProtocol) {
        rest = Substring(text).utf8
    }

    var isAtEnd: Bool { rest.isEmpty }

    /// Takes this text if it comes next, comparing bytes.
    mutating func take(_ literal: StaticString) -> Bool {
        literal.withUTF8Buffer { bytes in
            guard rest.starts(with: bytes) else { return false }
            rest.removeFirst(bytes.count)
            return true
        }
    }

    /// Takes the next byte, whatever it is.
    mutating func takeByte() -> UInt8? {
        rest.popFirst()
    }

    /// Takes the bytes before the first one that is not wanted; the condition must not split a character.
    mutating func take(while isWanted: (UInt8) -> Bool) -> Substring {
        let end = rest.firstIndex { !isWanted($0) } ?? rest.endIndex
        defer { rest = rest[end...] }
        return Substring(rest[..<end])
    }

    /// Takes everything that is left.
    mutating func takeRest() -> Substring {
        take { _ in true }
    }

    /// Takes `1*DIGIT`; `nil` when there is no digit or the number is beyond ``maximumNumber``.
    mutating func takeNumber() -> Int64? {
        guard let number = Int64(take(while: \.isASCIIDigit)), number <= Self.maximumNumber else { return nil }
        return number
    }

    /// Takes exactly this many digits, and no fewer than are there.
    mutating func takeNumber(digits: Int) -> Int? {
        let text = take(while: \.isASCIIDigit)
        return text.utf8.count == digits ? Int(text) : nil
    }

    /// Takes optional white space (RFC 9110, 5.6.3) and tells whether there was any.
    @discardableResult
    mutating func takeWhitespace() -> Bool {
        !take(while: \.isFieldWhitespace).isEmpty
    }
}
