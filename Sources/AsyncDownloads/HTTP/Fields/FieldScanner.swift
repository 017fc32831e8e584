/// A scanner that reads the bytes of a field value once, from the beginning to the end.
///
/// Its methods consume the bytes that they read and never go back: a parser rejects the whole value if a step fails.
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

    /// Reads `1*DIGIT`; `nil` if no digit comes next or the number is above ``maximumNumber``.
    mutating func takeNumber() -> Int64? {
        var number: Int64?
        while let byte = rest.first, byte.isASCIIDigit {
            let digit = Int64(byte - UInt8(ascii: "0"))
            guard number ?? 0 <= (Self.maximumNumber - digit) / 10 else { return nil }
            number = (number ?? 0) * 10 + digit
            rest.removeFirst()
        }
        return number
    }

    /// Reads all digits that come next; `nil` unless their number is exactly `digits`.
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

// Field names and the keywords of HTTP are ASCII. Swift compares strings by canonical equivalence and lowercases all of
// Unicode; both would treat U+212A (the Kelvin sign) as a `k`.

extension UInt8 {
    /// Whether the byte is an ASCII digit, 0 to 9.
    var isASCIIDigit: Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= self }

    /// Whether the byte is an ASCII letter of either case.
    var isASCIILetter: Bool { UInt8(ascii: "a")...UInt8(ascii: "z") ~= asciiLowercased }

    /// Whether the byte is a `tchar`, a character that a token may contain (RFC 9110, 5.6.2).
    var isTokenCharacter: Bool {
        switch self {
        case UInt8(ascii: "!"), UInt8(ascii: "#")...UInt8(ascii: "'"), UInt8(ascii: "*"), UInt8(ascii: "+"),
            UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "^")...UInt8(ascii: "`"), UInt8(ascii: "|"),
            UInt8(ascii: "~"):
            true
        default: isASCIIDigit || isASCIILetter
        }
    }

    /// Whether the byte is white space in a field value: `SP` or `HTAB` (RFC 9110, 5.6.3).
    var isFieldWhitespace: Bool { self == UInt8(ascii: " ") || self == UInt8(ascii: "\t") }

    /// Whether a field value may not contain the byte: a control character other than `HTAB` (RFC 9110, 5.5).
    var isForbiddenInFieldValue: Bool { (self < 0x20 && self != UInt8(ascii: "\t")) || self == 0x7F }

    /// The byte in lower case if it is an ASCII letter; otherwise the byte itself.
    var asciiLowercased: UInt8 {
        UInt8(ascii: "A")...UInt8(ascii: "Z") ~= self ? self | 0x20 : self
    }

    /// The value of the byte as a hexadecimal digit; `nil` for any other byte.
    var hexDigitValue: UInt8? {
        switch asciiLowercased {
        case let byte where byte.isASCIIDigit: byte - UInt8(ascii: "0")
        case let byte where UInt8(ascii: "a")...UInt8(ascii: "f") ~= byte: byte - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}

extension StringProtocol {
    /// Returns the text with its ASCII letters in lower case and all other characters unchanged.
    func asciiLowercased() -> String {
        String(decoding: utf8.map(\.asciiLowercased), as: UTF8.self)
    }

    /// Returns whether the texts have the same bytes, apart from the case of ASCII letters.
    func equalsIgnoringASCIICase(_ other: some StringProtocol) -> Bool {
        // Most names differ in length, which is known.
        utf8.count == other.utf8.count
            && utf8.elementsEqual(other.utf8) { $0.asciiLowercased == $1.asciiLowercased }
    }

    /// Returns whether the texts have the same UTF-8 bytes, a stricter comparison than `==`.
    func hasSameBytes(as other: some StringProtocol) -> Bool {
        // The bytes of almost every string are contiguous.
        let isSame = utf8.withContiguousStorageIfAvailable { bytes in
            other.utf8.withContiguousStorageIfAvailable { $0.hasSameBytes(as: bytes) }
        }
        return (isSame ?? nil) ?? utf8.elementsEqual(other.utf8)
    }

    /// Returns the text without surrounding white space, which isn't part of a field value (RFC 9110, 5.5).
    func trimmingFieldWhitespace() -> Substring {
        let text = Substring(self).utf8
        guard let first = text.firstIndex(where: { !$0.isFieldWhitespace }),
            let last = text.lastIndex(where: { !$0.isFieldWhitespace })
        else { return "" }
        return Substring(text[first...last])
    }
}
