public import struct Foundation.Date

/// The reason why a download is waiting.
///
/// Two reasons with different times aren't equal. Compare the ``name`` to recognize a reason that has a time.
public struct WaitingReason: Hashable, Sendable, CustomStringConvertible {
    /// The reason's name, which is stable across versions: that of its member, such as `turn` or `coolDown`.
    public let name: String

    /// The time until which the download waits at least; `nil` if it isn't known.
    public let end: Date?

    /// The reason's name, the same as ``name``.
    public var description: String { name }

    private init(_ name: String, end: Date? = nil) {
        (self.name, self.end) = (name, end)
    }

    /// The maximum number of concurrent downloads is reached, or another process is downloading the file.
    public static let turn = Self("turn")
    /// The device has no network connection.
    ///
    /// The download continues as soon as there is one, and uses no retry. The idle timeout doesn't apply meanwhile, the
    /// deadline does. On Linux, this means that no interface except the loopback interface is up and has an address.
    public static let connectivity = Self("connectivity")
    /// The present network isn't one that ``DownloadRequest/networkAccess`` permits.
    ///
    /// The download continues as soon as there is a permitted one, and uses no retry.
    public static let networkNotPermitted = Self("networkNotPermitted")
    /// The system chooses the time of a download in a background session, or the download waits for a task there.
    public static let system = Self("system")
    /// The server has asked for a time without requests.
    ///
    /// - Parameter end: The end of that time.
    public static func coolDown(until end: Date) -> Self { Self("coolDown", end: end) }
    /// No connection with the server can be established.
    ///
    /// - Parameter nextAttempt: The time of the next attempt.
    public static func hostUnreachable(until nextAttempt: Date) -> Self { Self("hostUnreachable", end: nextAttempt) }
}
