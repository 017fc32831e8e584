public import struct Foundation.Date

/// The settings of one download in a background session; other downloads ignore them.
public struct BackgroundTaskOptions: Sendable, Hashable {
    /// The date before which the system doesn't start the transfer, or `nil` to start it as soon as possible.
    public var earliestBeginDate: Date?

    /// The approximate number of bytes of the file, which helps the system to schedule the transfer; `nil` if unknown.
    public var expectedByteCount: Int64?

    /// Creates options with the given values.
    public init(earliestBeginDate: Date? = nil, expectedByteCount: Int64? = nil) {
        self.earliestBeginDate = earliestBeginDate
        self.expectedByteCount = expectedByteCount
    }
}
