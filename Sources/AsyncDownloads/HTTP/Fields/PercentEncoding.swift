/// Percent-decoding of text that may be malformed (RFC 3986, 2.1).
///
/// Foundation's decoding isn't used, because it returns `nil` for a text with any malformed escape.
enum PercentEncoding {
    /// Returns the decoded bytes of an ASCII text; `nil` if an escape is malformed or the text isn't ASCII.
    static func bytes(_ text: some StringProtocol) -> [UInt8]? {
        var bytes: [UInt8] = []
        var rest = Substring(text).utf8
        while let byte = rest.first {
            guard byte < 0x80 else { return nil }
            if byte == UInt8(ascii: "%") {
                guard let decoded = takeEscape(&rest) else { return nil }
                bytes.append(decoded)
            } else {
                bytes.append(byte)
                rest.removeFirst()
            }
        }
        return bytes
    }

    /// Returns the text with its escapes decoded.
    ///
    /// A `%` without two hexadecimal digits stays unchanged, as does a sequence of escapes that doesn't decode to
    /// UTF-8.
    static func decodingLeniently(_ text: some StringProtocol) -> String {
        var bytes: [UInt8] = []
        var rest = Substring(text).utf8
        while let byte = rest.first {
            let start = rest
            var escaped: [UInt8] = []
            while let decoded = takeEscape(&rest) { escaped.append(decoded) }
            if escaped.isEmpty {
                bytes.append(byte)
                rest.removeFirst()
            } else if String(wellFormedUTF8: escaped) != nil {
                bytes += escaped
            } else {
                bytes += start[..<rest.startIndex]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Reads `%XX` if it comes next, and returns the byte.
    private static func takeEscape(_ rest: inout Substring.UTF8View) -> UInt8? {
        let escape = Array(rest.prefix(3))
        guard escape.count == 3, escape[0] == UInt8(ascii: "%"),
            let high = escape[1].hexDigitValue, let low = escape[2].hexDigitValue
        else { return nil }
        rest.removeFirst(3)
        return high << 4 | low
    }
}
