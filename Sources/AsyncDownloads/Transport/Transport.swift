package import struct Foundation.URL

/// An engine that performs HTTP exchanges (port).
///
/// An adapter follows no redirect, retries nothing, caches nothing, keeps no cookies and asks for no compression: all
/// of that is decided above it. It calls an exchange's handler in order and never concurrently, on a thread of its own,
/// and reports an end only after the callbacks before it have returned: ``Exchange/cancel()`` may be called inside one.
/// A transfer survives an engine that does otherwise (``ExchangeReceiver``).
package protocol Transport: Sendable {
    /// The most bytes that one exchange should ask for, where the engine cannot hold a fast server back; else nil.
    var windowLength: Int64? { get }

    /// Whether the engine decodes content codings, so that a coded body's length says nothing of what arrives.
    var decodesContent: Bool { get }

    /// Begins an exchange; failures to begin are reported through `handler` as well.
    ///
    /// The handler may be called before this returns.
    func start(_ request: ExchangeRequest, handler: any ExchangeHandler) -> any Exchange

    /// Ends every exchange and frees the engine; no exchange is started afterwards.
    func shutdown() async
}

/// One GET request, ready to be sent.
package struct ExchangeRequest: Sendable, Hashable {
    package var url: URL
    package var headers: HeaderFields

    package init(url: URL, headers: HeaderFields) {
        self.url = url
        self.headers = headers
    }
}

/// A running exchange.
package protocol Exchange: Sendable {
    /// Ends the exchange soon; any number of times, from any thread, also inside a callback of its handler.
    ///
    /// The handler still gets its one end, after this has returned or on another thread.
    func cancel()

    /// How long the thread that calls this exchange's handler has spent in callbacks of any handler so far.
    ///
    /// It includes a callback that is in progress. Nothing can be delivered during callbacks of other exchanges of the
    /// same thread.
    var callbackTime: Duration { get }
}

extension Exchange {
    package var callbackTime: Duration { .zero }
}

/// Receives what an exchange brings: at most one head, then bytes, then exactly one end.
package protocol ExchangeHandler: AnyObject, Sendable {
    /// The final response's head; interim responses (1xx) are not reported.
    func exchangeReceivedHead(_ head: ResponseHead) -> Readiness

    /// The next bytes of the body, valid during the call only.
    func exchangeReceivedBytes(_ bytes: UnsafeRawBufferPointer) -> Readiness

    /// The last call. Nothing of the exchange is touched by the engine afterwards.
    func exchangeEnded(_ end: ExchangeEnd)
}

/// Whether the engine may deliver more.
package enum Readiness: Sendable {
    /// At once.
    case ready
    /// When the gate opens; until then the engine reads nothing, or keeps at most one window in memory.
    case notYet(Gate)
}

/// How an exchange ended.
package enum ExchangeEnd: Sendable {
    /// The body ended as its framing promised.
    case complete
    /// It was cancelled from here.
    case cancelled
    /// It failed; ``DownloadError/isRetryable`` says whether for a passing reason.
    case failed(DownloadError)
}
