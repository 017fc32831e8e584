/// One range of bytes to ask for (RFC 9110, 14.1.2): from a position to another one or to the end.
package struct ByteRange: Sendable, Hashable {
    /// The position of the first byte.
    package let first: Int64

    /// The position of the last byte, itself included; `nil` for all that follow.
    package let last: Int64?

    /// Fails for a negative position, a last position before the first, and positions beyond 2^62.
    package init?(first: Int64, last: Int64? = nil) {
        guard first >= 0, first <= last ?? first, last ?? first <= FieldScanner.maximumNumber else { return nil }
        self.first = first
        self.last = last
    }

    /// The value of the `Range` field: `bytes=5-` or `bytes=5-9`.
    package var headerValue: String {
        "bytes=\(first)-\(last.map(String.init) ?? "")"
    }

    /// The number of bytes from the first to the last, at least 1; `nil` for a range without a last position.
    package var length: Int64? {
        last.map { $0 - first + 1 }
    }
}
