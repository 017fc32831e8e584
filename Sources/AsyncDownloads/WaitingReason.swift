public import struct Foundation.Date

/// The reason why a download is waiting.
///
/// Two reasons with different times aren't equal. Compare the ``name`` to recognize a reason that has a time.
public struct WaitingReason: Hashable, Sendable, CustomStringConvertible {
    /// The reason's name, such as `turn` or `coolDown`, which is the name of the member and stable across versions.
    public let name: String

    /// The earliest time at which the download can continue; `nil` if it isn't known.
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
    /// The download continues as soon as a network is available, and uses no retry. The idle timeout doesn't apply
    /// while the download waits, but the deadline does. On Linux, this reason means that no interface except the
    /// loopback interface is up and has an address.
    public static let connectivity = Self("connectivity")
    /// The current network isn't permitted by ``DownloadRequest/networkAccess``.
    ///
    /// The download continues as soon as a permitted network is available, and uses no retry.
    public static let networkNotPermitted = Self("networkNotPermitted")
    /// The system chooses the time of a download in a background session, or the download waits for a task there.
    public static let system = Self("system")
    /// The server has requested a delay.
    ///
    /// - Parameter end: The end of the delay.
    public static func coolDown(until end: Date) -> Self { Self("coolDown", end: end) }
    /// The server has sent no response for two seconds, although other downloads have sent requests.
    ///
    /// The download continues as soon as the limits of concurrent downloads permit it.
    public static let noResponse = Self("noResponse")
    /// No connection to the server can be established, the server closes each one without a response, or it fails to
    /// handle the requests for different files, or refuses them without stating a time.
    ///
    /// - Parameter nextAttempt: The time of the next attempt.
    public static func hostUnreachable(until nextAttempt: Date) -> Self { Self("hostUnreachable", end: nextAttempt) }
}
