/// What a server says about ranges (RFC 9110, 14.3); only a hint either way (rule 33).
package enum AcceptRanges: Sendable, Hashable {
    /// Ranges of bytes are served.
    case bytes
    /// No ranges are served.
    case none
    /// There is no word about bytes.
    case unstated

    /// Reads the `Accept-Ranges` fields.
    package init(_ headers: HeaderFields) {
        let units = headers.tokens(for: "Accept-Ranges")
        self =
            if units.contains(where: { $0.equalsIgnoringASCIICase("bytes") }) {
                .bytes
            } else if units.contains(where: { $0.equalsIgnoringASCIICase("none") }) {
                .none
            } else {
                .unstated
            }
    }
}
