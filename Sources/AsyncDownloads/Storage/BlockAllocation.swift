/// How far blocks are allocated ahead of the bytes of a partial file.
///
/// A step at a time, so that a length that a server only claims, or a download that pauses early, takes no more than a
/// step of the disk.
struct BlockAllocation: Sendable, Hashable {
    /// The bytes that are allocated beyond the position of a write.
    static let step: Int64 = 64 << 20

    /// The length from which on blocks are allocated; for small files the call costs more than scattered blocks do.
    static let minimumLength: Int64 = 1 << 20

    private var end: Int64 = 0

    /// Where the allocation must end for a write up to `position`; nil where nothing is to be done.
    mutating func extend(to position: Int64, length: Int64?) -> Int64? {
        guard position > end, let length, length >= Self.minimumLength else { return nil }
        end = max(position, min(length, position + Self.step))
        return end
    }
}
