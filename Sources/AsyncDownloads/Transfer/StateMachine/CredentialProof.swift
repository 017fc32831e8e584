/// The bytes that are fetched again and compared before bytes are continued that may have been received with other
/// credentials: the first and the last 64 KiB.
///
/// Entity tags often identify a revision instead of a user's content, so that an equal tag doesn't say whose the bytes
/// are.
struct CredentialProof: Sendable, Hashable {
    /// How many bytes are compared at each end.
    static let length: Int64 = 64 << 10

    /// The ranges that have not been compared, ascending.
    private var ranges: [Range<Int64>]

    /// - Parameter count: The number of bytes from the first one without a gap.
    init(count: Int64) {
        if count <= 2 * Self.length {
            ranges = count > 0 ? [0..<count] : []
        } else {
            ranges = [0..<Self.length, count - Self.length..<count]
        }
    }

    /// The next range to compare; nil if all are equal.
    var next: Range<Int64>? { ranges.first }

    /// Records that the bytes of the next range are equal up to `position`.
    mutating func advance(to position: Int64) {
        guard let first = ranges.first else { return }
        ranges.removeFirst()
        if position < first.upperBound { ranges.insert(max(position, first.lowerBound)..<first.upperBound, at: 0) }
    }
}
