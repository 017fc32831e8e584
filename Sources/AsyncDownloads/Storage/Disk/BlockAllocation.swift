/// How far blocks are allocated ahead of the bytes of a partial file.
///
/// A step at a time, so that a length that a server only claims, or a download that pauses early, takes no more than a
/// step of the disk.
struct BlockAllocation: Sendable, Hashable {
    /// The bytes that are allocated beyond the position of a write.
    static let step: Int64 = 64 << 20

    /// The length from which on blocks are allocated; for small files the call costs more than scattered blocks do.
    static let minimumLength: Int64 = 1 << 20

    private var end: Int64?

    /// The bytes to allocate blocks for before `write` is written; nil where nothing is to be done.
    mutating func extend(for write: Range<Int64>, length: Int64?) -> Range<Int64>? {
        guard write.upperBound > end ?? 0, let length, length >= Self.minimumLength else { return nil }
        let (ahead, overflow) = write.upperBound.addingReportingOverflow(Self.step)
        let start = end ?? write.lowerBound
        let next = max(write.upperBound, overflow ? length : min(length, ahead))
        end = next
        return start..<max(start, next)
    }
}
