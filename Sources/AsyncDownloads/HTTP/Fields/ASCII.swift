// Field names and the keywords of HTTP are ASCII. Swift's own comparison is by canonical equivalence and its own
// lower-casing covers all of Unicode, so both would take U+212A (the Kelvin sign) for a `k`.

extension UInt8 {
    var isASCIIDigit: Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= self }

    var isASCIILetter: Bool { UInt8(ascii: "a")...UInt8(ascii: "z") ~= asciiLowercased }

    /// A `tchar` (RFC 9110, 5.6.2).
    var isTokenCharacter: Bool {
        isASCIIDigit || isASCIILetter || "!#$%&'*+-.^_`|~".utf8.contains(self)
    }

    /// White space inside a field value: `SP` or `HTAB` (RFC 9110, 5.6.3).
    var isFieldWhitespace: Bool { self == UInt8(ascii: " ") || self == UInt8(ascii: "\t") }

    /// A character that no field value may hold: a control character other than `HTAB` (RFC 9110, 5.5).
    var isForbiddenInFieldValue: Bool { (self < 0x20 && self != UInt8(ascii: "\t")) || self == 0x7F }

    var asciiLowercased: UInt8 {
        UInt8(ascii: "A")...UInt8(ascii: "Z") ~= self ? self | 0x20 : self
    }

    /// The value of a hexadecimal digit.
    var hexDigitValue: UInt8? {
        switch asciiLowercased {
        case let byte where byte.isASCIIDigit: byte - UInt8(ascii: "0")
        case let byte where UInt8(ascii: "a")...UInt8(ascii: "f") ~= byte: byte - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}

extension StringProtocol {
    func asciiLowercased() -> String {
        String(decoding: utf8.map(\.asciiLowercased), as: UTF8.self)
    }

    func equalsIgnoringASCIICase(_ other: some StringProtocol) -> Bool {
        utf8.elementsEqual(other.utf8) { $0.asciiLowercased == $1.asciiLowercased }
    }

    /// Equality of the bytes, which is stricter than `==`.
    func hasSameBytes(as other: some StringProtocol) -> Bool {
        utf8.elementsEqual(other.utf8)
    }

    /// The text without the white space round it, which is not part of a field value (RFC 9110, 5.5).
    func trimmingFieldWhitespace() -> Substring {
        let text = Substring(self).utf8
        guard let first = text.firstIndex(where: { !$0.isFieldWhitespace }),
            let last = text.lastIndex(where: { !$0.isFieldWhitespace })
        else { return "" }
        return Substring(text[first...last])
    }
}
