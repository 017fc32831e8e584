/// The allocation of blocks ahead of the bytes of a partial file.
///
/// Blocks are allocated in steps, so that at most one step of disk space is wasted if a server declares a false length
/// or a download pauses early. Each exchange that writes a part of the file has its own steps; no blocks are allocated
/// for the bytes between two parts.
struct BlockAllocation: Sendable, Hashable {
    /// The number of bytes that are allocated beyond the end of a write.
    static let step: Int64 = 64 << 20

    /// The number of bytes that are allocated beyond the end of a write in any part except the first.
    ///
    /// The step is smaller, because a file may have many parts.
    static let partStep: Int64 = 8 << 20

    /// The minimum length of a file for allocation; for smaller files, the call takes more time than it saves.
    static let minimumLength: Int64 = 1 << 20

    private var allocated = IntervalSet()

    /// Returns the range to allocate blocks for before `write` is written, or nil if no allocation is necessary.
    mutating func extend(for write: Range<Int64>, length: Int64?) -> Range<Int64>? {
        guard let length, length >= Self.minimumLength, !write.isEmpty else { return nil }
        let start = allocated.firstMissing(from: write.lowerBound)
        guard start < write.upperBound else { return nil }
        let isFirst = allocated.ranges.first.map { $0.lowerBound >= start || $0.upperBound == start } ?? true
        let (ahead, overflow) = write.upperBound.addingReportingOverflow(isFirst ? Self.step : Self.partStep)
        // The blocks of the next part are already allocated.
        let next = allocated.ranges.first { $0.lowerBound > start }?.lowerBound ?? .max
        let end = max(write.upperBound, min(overflow ? length : min(length, ahead), next))
        allocated.insert(start..<end)
        return start..<end
    }
}
