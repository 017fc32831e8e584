internal import Foundation

/// What ``Downloader/removeLeftovers(in:olderThan:)`` has removed.
public struct RemovedLeftovers: Sendable, Hashable {
    /// The number of files.
    public var fileCount: Int
    /// The bytes that they held.
    public var byteCount: Int64

    /// Creates a value.
    public init(fileCount: Int = 0, byteCount: Int64 = 0) {
        self.fileCount = fileCount
        self.byteCount = byteCount
    }

    static func += (sum: inout Self, other: Self) {
        sum.fileCount += other.fileCount
        sum.byteCount = sum.byteCount.addingClamped(other.byteCount)
    }
}
