/// The progress of a download in numbers.
public struct DownloadProgress: Sendable, Hashable {
    /// The number of bytes of the file that have been received, including bytes from earlier runs.
    public var receivedByteCount: Int64

    /// The length of the whole file in bytes, if the server reported it.
    public var expectedByteCount: Int64?

    /// The number of body bytes that crossed the network since the transfer started in this process.
    public var fetchedByteCount: Int64

    /// The smoothed speed in bytes per second, or `nil` until it can be measured.
    public var bytesPerSecond: Double?

    /// The estimated time until completion at the current speed, or `nil` while the length or the speed is unknown.
    public var timeRemaining: Duration?

    /// The number of connections over which the file is being received; 0 while nothing is being received.
    public var connectionCount: Int

    /// The received fraction of the file, from 0 to 1, or `nil` while the length is unknown.
    ///
    /// The fraction of an empty file is 1.
    public var fractionCompleted: Double? {
        guard let expectedByteCount else { return nil }
        guard expectedByteCount > 0 else { return 1 }
        return min(1, Double(receivedByteCount) / Double(expectedByteCount))
    }

    /// Creates a progress value, whose ``fractionCompleted`` is computed from the byte counts.
    public init(
        receivedByteCount: Int64 = 0, expectedByteCount: Int64? = nil, fetchedByteCount: Int64 = 0,
        bytesPerSecond: Double? = nil, timeRemaining: Duration? = nil, connectionCount: Int = 0
    ) {
        self.receivedByteCount = receivedByteCount
        self.expectedByteCount = expectedByteCount
        self.fetchedByteCount = fetchedByteCount
        self.bytesPerSecond = bytesPerSecond
        self.timeRemaining = timeRemaining
        self.connectionCount = connectionCount
    }
}
