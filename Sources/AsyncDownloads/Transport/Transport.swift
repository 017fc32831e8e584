package import struct Foundation.URL

/// The port to an HTTP engine, which performs exchanges.
///
/// An adapter doesn't follow redirects, retry, cache, store cookies, or request compression; higher layers decide about
/// all of these. It calls an exchange's handler in order and never concurrently, on a thread of the engine. It reports
/// the end of an exchange only after all earlier callbacks have returned, even if ``Exchange/cancel()`` is called
/// inside a callback. A transfer tolerates an engine that violates these rules (``ExchangeReceiver``).
package protocol Transport: Sendable {
    /// The largest number of bytes that one exchange should request; `nil` if the engine can hold back a fast server.
    ///
    /// The value is also `nil` for URLSession on Apple platforms, on the assumption that a suspended task stops
    /// reading. How much a suspended task still reads has not been measured.
    var windowLength: Int64? { get }

    /// Whether the engine decodes content codings, so that the bytes of a coded body don't have the declared length.
    var decodesContent: Bool { get }

    /// Whether requests go to a proxy on this machine, so that servers can be reached without a network.
    var usesLocalProxy: Bool { get }

    /// Starts an exchange; a failure to start it is also reported through `handler`.
    ///
    /// The handler may be called before this function returns.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - neighbor: Another exchange of the same file that this transport has started; nil if there is none. The new
    ///     exchange needs a connection that the other exchanges of the file don't use. An engine with several threads
    ///     should deliver the bytes of both on one thread if that is faster, since they are written to one file.
    ///   - handler: The receiver of the exchange's events.
    func start(
        _ request: ExchangeRequest, beside neighbor: (any Exchange)?, handler: any ExchangeHandler
    ) -> any Exchange

    /// Ends all exchanges and releases the engine; no exchange can be started afterward.
    ///
    /// Connections may be closed, and the end of an exchange whose handler is still busy may be reported, after this
    /// function has returned.
    func shutdown() async
}

extension Transport {
    package var usesLocalProxy: Bool { false }
}

/// A request that is ready to be sent.
package struct ExchangeRequest: Sendable, Hashable {
    /// The method of a request (RFC 9110, 9.3).
    package enum Method: String, Sendable, Hashable {
        case get = "GET"
        /// A request whose response has no body.
        case head = "HEAD"
    }

    /// The method.
    package var method: Method
    /// The URL of the request.
    package var url: URL
    /// All header fields that the package sends.
    package var headers: HeaderFields
    /// Whether the client may present its certificate to the server: false after a redirect to another origin (rule
    /// 11).
    package var sendsCredentials: Bool
    /// The networks that the request may use, for engines that can enforce this.
    package var networkAccess: NetworkAccess

    package init(
        method: Method = .get, url: URL, headers: HeaderFields, sendsCredentials: Bool = true,
        networkAccess: NetworkAccess = NetworkAccess()
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.sendsCredentials = sendsCredentials
        self.networkAccess = networkAccess
    }
}

/// A running exchange.
package protocol Exchange: Sendable {
    /// Cancels the exchange, which ends soon afterward.
    ///
    /// The function can be called several times, from any thread, and inside a callback of the exchange's handler. The
    /// handler still receives exactly one end, after this function has returned or on another thread.
    func cancel()

    /// The total time in which this exchange could not receive anything because this process was busy.
    ///
    /// The time is spent in callbacks of the exchange's handler, and of other handlers for which the exchange has to
    /// wait. It includes a callback in progress.
    var callbackTime: Duration { get }
}

extension Exchange {
    package var callbackTime: Duration { .zero }
}

/// An exchange that failed before it was started.
struct FailedExchange: Exchange {
    func cancel() {}
}

/// The receiver of an exchange's events: at most one head, then bytes, then exactly one end.
///
/// Before the head, the exchange may report that it waits for a network connection.
package protocol ExchangeHandler: AnyObject, Sendable {
    /// The largest number of bytes that one call should deliver; nil for any number.
    ///
    /// An engine that can't divide the bytes of a read may deliver more. The value may change during the exchange.
    var longestPart: Int? { get }

    /// Handles that the exchange begins, or ceases, to wait for a network connection of the device.
    ///
    /// Engines that fail without a connection instead of waiting for one never call this function.
    func exchangeWaits(forConnectivity isWaiting: Bool)

    /// Receives information about the connection of the exchange, at any time before the end; not all engines call it.
    func exchangeUses(_ connection: ExchangeConnection)

    /// Receives the head of the final response; interim responses (1xx) aren't reported.
    func exchangeReceivedHead(_ head: ResponseHead) -> Readiness

    /// Receives the next bytes of the body, which are valid only during the call.
    func exchangeReceivedBytes(_ bytes: UnsafeRawBufferPointer) -> Readiness

    /// Receives the end of the exchange; the engine calls no function of the handler afterward.
    func exchangeEnded(_ end: ExchangeEnd)
}

extension ExchangeHandler {
    package var longestPart: Int? { nil }

    package func exchangeWaits(forConnectivity isWaiting: Bool) {}

    package func exchangeUses(_ connection: ExchangeConnection) {}
}

/// The information that an engine reports about the connection of an exchange.
package struct ExchangeConnection: Sendable, Hashable {
    /// Whether the connection has already served another exchange.
    package var isReused: Bool
    /// The name of the protocol (RFC 7301); nil if the engine doesn't report it.
    package var protocolName: String?

    package init(isReused: Bool, protocolName: String?) {
        (self.isReused, self.protocolName) = (isReused, protocolName)
    }
}

/// A handler's readiness to receive more events of its exchange.
package enum Readiness: Sendable {
    /// The handler can receive the next event at once.
    case ready
    /// The handler can receive the next event when the gate opens.
    ///
    /// Until the gate opens, an engine keeps in memory the bytes that it still reads: at most two mebibytes for
    /// AsyncHTTPClient and the engine over SwiftNIO, and at most one window for URLSession on Linux, unless the server
    /// ignores ranges. For URLSession on Apple platforms, no limit has been measured (``Transport/windowLength``).
    case notYet(Gate)
}

/// The way in which an exchange ended.
package enum ExchangeEnd: Sendable {
    /// The body ended as its framing declares.
    case complete
    /// The exchange was canceled with ``Exchange/cancel()``.
    case cancelled
    /// The exchange was canceled with ``Exchange/cancel()`` before a connection was established; not all engines report
    /// this.
    case cancelledWhileConnecting
    /// The exchange failed; ``DownloadError/isRetryable`` says whether the same request may succeed later.
    case failed(DownloadError)
}
