/// How far a download has come: a value, formatted by whoever shows it.
public struct DownloadProgress: Sendable, Hashable {
    /// Bytes of the file that are there, those of earlier runs included.
    public var receivedByteCount: Int64

    /// The length of the whole file, where the server told it.
    public var expectedByteCount: Int64?

    /// Body bytes that crossed the network since this transfer began in this process.
    public var fetchedByteCount: Int64

    /// The smoothed speed in bytes a second; nil until there is something to measure.
    public var bytesPerSecond: Double?

    /// The time that the rest will take at this speed; nil while length or speed is unknown.
    public var timeRemaining: Duration?

    /// The part that is there, from 0 to 1; nil while the length is unknown.
    ///
    /// An empty file is complete.
    public var fractionCompleted: Double? {
        guard let expectedByteCount else { return nil }
        guard expectedByteCount > 0 else { return 1 }
        return min(1, Double(receivedByteCount) / Double(expectedByteCount))
    }

    /// Creates a value; the derived ones follow from what is given.
    public init(
        receivedByteCount: Int64 = 0, expectedByteCount: Int64? = nil, fetchedByteCount: Int64 = 0,
        bytesPerSecond: Double? = nil, timeRemaining: Duration? = nil
    ) {
        self.receivedByteCount = receivedByteCount
        self.expectedByteCount = expectedByteCount
        self.fetchedByteCount = fetchedByteCount
        self.bytesPerSecond = bytesPerSecond
        self.timeRemaining = timeRemaining
    }
}
