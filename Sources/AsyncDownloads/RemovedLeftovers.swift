internal import Foundation

/// The number and the size of the files that
/// ``Downloader/removeLeftovers(in:includingSubdirectories:olderThan:)`` removed.
public struct RemovedLeftovers: Sendable, Hashable {
    /// The number of removed files.
    public var fileCount: Int
    /// The number of bytes in the removed files.
    public var byteCount: Int64

    /// Creates a value with the given numbers.
    public init(fileCount: Int = 0, byteCount: Int64 = 0) {
        self.fileCount = fileCount
        self.byteCount = byteCount
    }

    static func += (sum: inout Self, other: Self) {
        sum.fileCount += other.fileCount
        sum.byteCount = sum.byteCount.addingClamped(other.byteCount)
    }
}
