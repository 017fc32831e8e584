public import Foundation

/// The measurements of one request and its response, from ``Downloader/Configuration/onExchange``.
///
/// ```swift
/// configuration.onExchange = { record in
///     print(record.url, record.statusCode ?? 0, record.byteCount, record.duration)
/// }
/// ```
public struct ExchangeRecord: Sendable, Hashable {
    /// The reason why a request was sent; later versions may add cases.
    #if hasAttribute(nonexhaustive)
    @nonexhaustive(warn)
    #endif
    public enum Reason: Sendable, Hashable, CaseIterable {
        /// The file is requested from its first byte.
        case start
        /// The bytes after the received ones are requested, for example after a failure or a pause.
        case continuation
        /// The target of a redirect is requested.
        case redirect
        /// Received bytes are requested again, to verify that the server has the same file.
        case comparison
        /// A part of the file is requested over an additional connection.
        case additionalConnection
    }

    /// The URL of the request, without its user, query, and fragment.
    public var url: URL

    /// The reason why the request was sent.
    public var reason = Reason.start

    /// The number of the attempt, counted from 1.
    ///
    /// The count restarts at 1 after an attempt that has received new bytes. A redirect belongs to the attempt that it
    /// follows.
    public var attempt = 1

    /// The offset in bytes at which the requested part of the file begins.
    public var offset: Int64 = 0

    /// The status code of the response (RFC 9110, 15), or `nil` if none arrived.
    public var statusCode: Int?

    /// The number of bytes of the response's body that arrived.
    public var byteCount: Int64 = 0

    /// The time at which the request was passed to the engine, to the second.
    public var startDate = Date(timeIntervalSince1970: 0)

    /// The time from the start until the head of the response arrived, or `nil` if it didn't.
    ///
    /// The value includes the time to establish a connection.
    public var timeToHead: Duration?

    /// The time from the start until the exchange ended.
    public var duration = Duration.zero

    /// Whether the connection had served another request before, or `nil` if the engine doesn't report it.
    public var isConnectionReused: Bool?

    /// The name of the protocol (RFC 7301), such as `http/1.1`, or `nil` if the engine doesn't report it.
    public var protocolName: String?

    /// The code of the error that ended the exchange; `nil` if the response was complete.
    ///
    /// The code is ``DownloadError/Code/cancelled`` if the rest of the response wasn't needed. A response with an error
    /// status code, such as 404, isn't an error of the exchange.
    public var errorCode: DownloadError.Code?

    /// Creates a record with default values, for tests of code that receives one.
    public init(url: URL) {
        self.url = url
    }
}
