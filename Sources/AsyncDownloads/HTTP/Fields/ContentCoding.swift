/// The codings that a body was put through (RFC 9110, 8.4), identity not among them.
///
/// Positions in a coded body are not positions in the file, so a response with a coding is never resumed (rule 28).
package struct ContentCoding: Sendable, Hashable, CustomStringConvertible {
    /// The names in the order they were applied, in lower case, joined by `", "`.
    package let description: String

    /// Reads the `Content-Encoding` fields; `nil` when the body is not coded.
    package init?(_ headers: HeaderFields) {
        let codings = headers.tokens(for: "Content-Encoding").map { Self.normalised($0) }.filter { $0 != "identity" }
        guard !codings.isEmpty else { return nil }
        description = codings.joined(separator: ", ")
    }

    /// The name in lower case; the old names of gzip and compress mean the same (RFC 9110, 8.4.1.1 and 8.4.1.3).
    private static func normalised(_ name: Substring) -> String {
        switch name.asciiLowercased() {
        case "x-gzip": "gzip"
        case "x-compress": "compress"
        case let name: name
        }
    }
}
