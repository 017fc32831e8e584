/// The allocation of blocks ahead of the bytes of a partial file.
///
/// Blocks are allocated in steps, so that a false length from a server, or a download that pauses early, uses no more
/// than one step of disk space.
struct BlockAllocation: Sendable, Hashable {
    /// The number of bytes that are allocated beyond the end of a write.
    static let step: Int64 = 64 << 20

    /// The minimum length of a file for allocation; for smaller files the call costs more than fragmentation.
    static let minimumLength: Int64 = 1 << 20

    private var end: Int64?

    /// Returns the range to allocate blocks for before `write` is written, or nil if no allocation is necessary.
    mutating func extend(for write: Range<Int64>, length: Int64?) -> Range<Int64>? {
        guard write.upperBound > end ?? 0, let length, length >= Self.minimumLength else { return nil }
        let (ahead, overflow) = write.upperBound.addingReportingOverflow(Self.step)
        let start = end ?? write.lowerBound
        let next = max(write.upperBound, overflow ? length : min(length, ahead))
        end = next
        return start..<max(start, next)
    }
}
