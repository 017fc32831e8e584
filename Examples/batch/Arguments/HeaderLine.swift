internal import AsyncDownloads

/// A header field in the form `Name: value`.
struct HeaderLine: Sendable, Hashable {
    let name: String
    let value: String

    init(_ text: String) throws(Misuse) {
        let scalars = text.unicodeScalars
        guard let colon = scalars.firstIndex(of: ":") else { throw Misuse("a header has the form Name: value") }
        name = String(scalars[..<colon])
        value = String(scalars[scalars.index(after: colon)...]).trimmingWhitespace()
        guard !name.isEmpty, name.utf8.allSatisfy(Self.isTokenByte) else {
            throw Misuse("a header name can contain only letters, digits, and some punctuation such as hyphens")
        }
        guard value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else {
            throw Misuse("a header value cannot contain control characters")
        }
    }

    /// Parses a header that is not secret.
    ///
    /// - Throws: An error if the field holds credentials by definition.
    static func nonsecret(_ text: String) throws(Misuse) -> Self {
        let line = try Self(text)
        guard !["authorization", "cookie", "proxy-authorization"].contains(line.name.lowercased()) else {
            throw Misuse("\(line.name) is always secret; use --header, which sends it to the URL's origin only")
        }
        return line
    }

    /// Whether `byte` can be part of a token (RFC 9110, 5.6.2).
    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"):
            true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }
}

/// The value of `--header`: a header field, or the fields in a file, one per line.
struct HeaderList: Sendable, Hashable {
    let lines: [HeaderLine]

    /// Reads a field, or the file whose path follows an `@`; empty lines and lines that start with `#` are ignored.
    init(_ text: String) throws(Misuse) {
        guard text.hasPrefix("@") else {
            lines = [try HeaderLine(text)]
            return
        }
        lines = try TextFile(String(text.dropFirst())).map { (line) throws(Misuse) in
            line.isEmpty || line.hasPrefix("#") ? nil : try HeaderLine(line)
        }
    }
}

extension HeaderFields {
    init(_ lines: [HeaderLine]) {
        self.init(lines.map { (name: $0.name, value: $0.value) })
    }
}

extension StringProtocol {
    /// Returns the text without spaces and tabs at both ends, including those before a combining mark.
    func trimmingWhitespace() -> String {
        let isSpace: (Unicode.Scalar) -> Bool = { $0 == " " || $0 == "\t" }
        let start = Substring(self).unicodeScalars.drop(while: isSpace)
        return String(start[..<(start.lastIndex { !isSpace($0) }.map(start.index(after:)) ?? start.startIndex)])
    }
}
