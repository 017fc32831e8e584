internal import AsyncDownloads
internal import Foundation

/// A transport that responds from a table, for URLs that no local server can have.
final class ScriptedTransport: Transport {
    private struct NoExchange: Exchange {
        func cancel() {}
    }

    private let heads: [String: ResponseHead]
    private let sent = Mutex([ExchangeRequest]())

    /// Creates a transport whose bodies are empty.
    ///
    /// - Parameter heads: The heads of the responses by absolute URL; other URLs get 404.
    init(_ heads: [String: ResponseHead]) {
        self.heads = heads
    }

    /// The requests in the order they were sent.
    var requests: [ExchangeRequest] { sent.withLock { $0 } }

    var windowLength: Int64? { nil }
    var decodesContent: Bool { false }

    func start(
        _ request: ExchangeRequest, beside neighbor: (any Exchange)?, handler: any ExchangeHandler
    ) -> any Exchange {
        sent.withLock { $0.append(request) }
        let missing = ResponseHead(status: StatusCode(404), headers: ["Content-Length": "0"])
        switch handler.exchangeReceivedHead(heads[request.url.absoluteString] ?? missing) {
        case .ready: handler.exchangeEnded(.complete)
        case .notYet(let gate): gate.onOpen { handler.exchangeEnded(.complete) }
        }
        return NoExchange()
    }

    func shutdown() async {}
}

extension ResponseHead {
    /// Returns the head of a redirect to `location`.
    static func redirect(to location: String?) -> Self {
        var headers: AsyncDownloads.HeaderFields = ["Content-Length": "0"]
        headers["Location"] = location
        return Self(status: StatusCode(302), headers: headers)
    }

    /// The head of an empty file.
    static let empty = Self(status: StatusCode(200), headers: ["Content-Length": "0"])
}
