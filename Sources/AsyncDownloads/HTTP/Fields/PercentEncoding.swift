package import Foundation

/// Percent-encoding and -decoding of text that may be malformed (RFC 3986, 2.1).
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
        guard text.utf8.contains(UInt8(ascii: "%")) else { return String(text) }
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

    /// Returns the text of a URL or a relative reference, in which each byte that no URL may contain is encoded.
    ///
    /// Everything else stays unchanged, above all existing escapes. The authority isn't changed either, because names of
    /// hosts have another encoding.
    static func encodingInvalidBytes(_ text: Substring) -> String {
        var rest = text.utf8
        // Most texts need no change, and this check is faster than the loop.
        if rest.allSatisfy({ $0.isAllowedInURL }), authorityEnd(rest) != nil { return String(text) }
        var bytes: [UInt8] = []
        if let end = authorityEnd(rest) {
            bytes += rest[..<end]
            rest = rest[end...]
        } else if hasColonInFirstSegment(rest) {
            bytes += "./".utf8
        }
        var hasFragment = false
        while let byte = rest.first {
            let start = rest
            let isEscape = takeEscape(&rest) != nil
            if isEscape {
                bytes += start[..<rest.startIndex]
                continue
            }
            rest.removeFirst()
            let beginsFragment = byte == UInt8(ascii: "#") && !hasFragment
            if beginsFragment || byte.isAllowedInURL {
                bytes.append(byte)
            } else {
                bytes.append(UInt8(ascii: "%"))
                bytes += [byte >> 4, byte & 0xF].map { $0 + ($0 < 10 ? UInt8(ascii: "0") : UInt8(ascii: "A") - 10) }
            }
            hasFragment = hasFragment || beginsFragment
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Whether the colon after the first segment of a relative reference would be taken for the end of a scheme (RFC 3986,
    /// 4.2).
    private static func hasColonInFirstSegment(_ text: Substring.UTF8View) -> Bool {
        guard let end = text.firstIndex(where: { ":/?#".utf8.contains($0) }), text[end] == UInt8(ascii: ":") else {
            return false
        }
        let scheme = text[..<end]
        return scheme.first?.isASCIILetter != true
            || !scheme.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit || "+-.".utf8.contains($0) }
    }

    /// Returns the end of the authority, which follows `//`; nil if the text has none.
    private static func authorityEnd(_ text: Substring.UTF8View) -> Substring.Index? {
        func isDelimiter(_ byte: UInt8) -> Bool {
            byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#")
        }
        guard let slash = text.firstIndex(where: isDelimiter), text[slash...].starts(with: "//".utf8),
            slash == text.startIndex || text[..<slash].last == UInt8(ascii: ":")
        else { return nil }
        let authority = text[slash...].dropFirst(2)
        return authority.firstIndex(where: isDelimiter) ?? authority.endIndex
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

extension UInt8 {
    /// Whether the byte is unreserved, or a delimiter that a path, a query, or a fragment may contain (RFC 3986, 3.3).
    fileprivate var isAllowedInURL: Bool {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"):
            true
        case UInt8(ascii: "!"), UInt8(ascii: "$"), UInt8(ascii: "&")...UInt8(ascii: "/"), UInt8(ascii: ":"),
            UInt8(ascii: ";"), UInt8(ascii: "="), UInt8(ascii: "?"), UInt8(ascii: "@"), UInt8(ascii: "_"),
            UInt8(ascii: "~"):
            true
        default: false
        }
    }
}

extension URL {
    /// Creates a URL from text of users and servers, which may contain characters that have to be encoded.
    ///
    /// Foundation's parser encodes all of a component that contains such a character, including the percent signs of
    /// existing escapes, and the URL then identifies another resource.
    package init?(encoding text: some StringProtocol, relativeTo base: URL? = nil) {
        self.init(string: PercentEncoding.encodingInvalidBytes(Substring(text)), relativeTo: base)
    }
}
