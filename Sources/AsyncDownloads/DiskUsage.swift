/// The disk space that the files of unfinished downloads occupy.
///
/// ``Downloader/diskUsage(in:includingSubdirectories:)`` returns this value. Only hidden files of the package that
/// belong to this user are counted. Finished files and files that the system keeps for background sessions aren't
/// counted.
public struct DiskUsage: Sendable, Hashable {
    /// The number of unfinished downloads that can be continued.
    ///
    /// Downloads that share a transfer count as one. A running download counts as soon as its bytes are recorded.
    public var downloadCount: Int
    /// The number of bytes that these downloads have received and recorded.
    public var receivedByteCount: Int64
    /// The disk space that these downloads occupy, in bytes.
    ///
    /// The value can be more than ``receivedByteCount``, because space is allocated ahead of the received bytes and
    /// because each download has files besides its partial file. On a volume that compresses files, it can be less.
    public var allocatedByteCount: Int64
    /// The number of other hidden files of the package.
    ///
    /// The value includes leftovers that ``Downloader/removeLeftovers(in:includingSubdirectories:olderThan:)`` removes
    /// once they are old enough, files of running downloads whose bytes aren't recorded yet, and files of downloads
    /// that another version of the package recorded.
    public var otherFileCount: Int
    /// The disk space that these files occupy, in bytes.
    public var otherAllocatedByteCount: Int64

    /// Creates a value with the given numbers.
    public init(
        downloadCount: Int = 0, receivedByteCount: Int64 = 0, allocatedByteCount: Int64 = 0, otherFileCount: Int = 0,
        otherAllocatedByteCount: Int64 = 0
    ) {
        self.downloadCount = downloadCount
        self.receivedByteCount = receivedByteCount
        self.allocatedByteCount = allocatedByteCount
        self.otherFileCount = otherFileCount
        self.otherAllocatedByteCount = otherAllocatedByteCount
    }
}
