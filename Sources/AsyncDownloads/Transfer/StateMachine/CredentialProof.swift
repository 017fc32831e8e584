/// The bytes that are fetched again and compared before bytes are continued that may have been received with other
/// credentials: the first and the last 64 KiB of each range without a gap.
///
/// Each range is compared, because exchanges that ran at the same time may have received them one by one.
///
/// Entity tags often identify a revision instead of a user's content, so that an equal tag doesn't say whose the bytes
/// are.
struct CredentialProof: Sendable, Hashable {
    /// The number of bytes that are compared at each end.
    static let length: Int64 = 64 << 10

    /// The ranges that have not been compared, ascending.
    private var ranges: [Range<Int64>]

    /// - Parameter received: The bytes that are to be continued.
    init(_ received: IntervalSet) {
        ranges = received.ranges.flatMap { range in
            range.upperBound - range.lowerBound <= 2 * Self.length
                ? [range]
                : [
                    range.lowerBound..<range.lowerBound + Self.length,
                    range.upperBound - Self.length..<range.upperBound,
                ]
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
