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
