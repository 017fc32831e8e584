/// A range of bytes to request: from a first to a last position, or to the end (RFC 9110, 14.1.2).
package struct ByteRange: Sendable, Hashable {
    /// The position of the first byte.
    package let first: Int64

    /// The position of the last byte, inclusive; `nil` for a range that extends to the end of the representation.
    package let last: Int64?

    /// Creates a range; `nil` if a position is negative or above 2^62, or if the last one precedes the first.
    package init?(first: Int64, last: Int64? = nil) {
        guard first >= 0, first <= last ?? first, last ?? first <= FieldScanner.maximumNumber else { return nil }
        self.first = first
        self.last = last
    }

    /// The value of a `Range` field for this range, such as `bytes=5-` or `bytes=5-9`.
    package var headerValue: String {
        "bytes=\(first)-\(last.map(String.init) ?? "")"
    }

    /// The number of bytes in the range, at least 1; `nil` for a range without a last position.
    package var length: Int64? {
        last.map { $0 - first + 1 }
    }
}
