/// What has to be fetched again and compared before bytes are continued that may have been received with other
/// credentials: their first and their last 64 KiB.
///
/// Entity tags are often per revision and not per user, so that an unchanged one does not tell whose the bytes are.
struct CredentialProof: Sendable, Hashable {
    /// How many bytes are compared at each end.
    static let length: Int64 = 64 << 10

    /// The ranges that are not compared yet, ascending.
    private var ranges: [Range<Int64>]

    /// - Parameter count: How many bytes are there from the first on.
    init(count: Int64) {
        if count <= 2 * Self.length {
            ranges = count > 0 ? [0..<count] : []
        } else {
            ranges = [0..<Self.length, count - Self.length..<count]
        }
    }

    /// The next range to compare; nil where all are equal.
    var next: Range<Int64>? { ranges.first }

    /// The bytes of the next range are equal as far as `position`.
    mutating func advance(to position: Int64) {
        guard let first = ranges.first else { return }
        ranges.removeFirst()
        if position < first.upperBound { ranges.insert(max(position, first.lowerBound)..<first.upperBound, at: 0) }
    }
}
