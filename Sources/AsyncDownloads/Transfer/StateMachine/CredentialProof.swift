/// The ranges to compare with the server's bytes before continuing bytes that may have been received with other
/// credentials.
///
/// These are the first and the last 64 KiB of each received range.
///
/// Every range is compared, because concurrent exchanges may have received each range separately.
///
/// Entity tags often identify a revision instead of a user's content, so an equal tag doesn't prove that the bytes
/// belong to the same user.
struct CredentialProof: Sendable, Hashable {
    /// The number of bytes to compare at each end.
    static let length: Int64 = 64 << 10

    /// The ranges that have not been compared, in ascending order.
    private var ranges: [Range<Int64>]

    /// - Parameter received: The bytes to be continued.
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

    /// The next range to compare; nil if all ranges were equal.
    var next: Range<Int64>? { ranges.first }

    /// Records that the bytes of the next range are equal up to `position`.
    mutating func advance(to position: Int64) {
        guard let first = ranges.first else { return }
        ranges.removeFirst()
        if position < first.upperBound { ranges.insert(max(position, first.lowerBound)..<first.upperBound, at: 0) }
    }
}
