internal import AsyncDownloads
internal import Foundation

/// An engine that answers from a table, for addresses that no server here has.
final class ScriptedTransport: Transport {
    private struct NoExchange: Exchange {
        func cancel() {}
    }

    private let heads: [String: ResponseHead]
    private let sent = Mutex([ExchangeRequest]())

    /// - Parameter heads: What is answered, by absolute URL; 404 elsewhere. Every body is empty.
    init(_ heads: [String: ResponseHead]) {
        self.heads = heads
    }

    /// What was asked for, in order.
    var requests: [ExchangeRequest] { sent.withLock { $0 } }

    var windowLength: Int64? { nil }
    var decodesContent: Bool { false }

    func start(_ request: ExchangeRequest, handler: any ExchangeHandler) -> any Exchange {
        sent.withLock { $0.append(request) }
        let missing = ResponseHead(status: StatusCode(404), headers: ["Content-Length": "0"])
        switch handler.exchangeReceivedHead(heads[request.url.absoluteString] ?? missing) {
        case .ready: handler.exchangeEnded(.complete)
        case .notYet(let gate): gate.whenOpen { handler.exchangeEnded(.complete) }
        }
        return NoExchange()
    }

    func shutdown() async {}
}

extension ResponseHead {
    /// A redirect to `location`.
    static func redirect(to location: String?) -> Self {
        var headers: AsyncDownloads.HeaderFields = ["Content-Length": "0"]
        headers["Location"] = location
        return Self(status: StatusCode(302), headers: headers)
    }

    /// An empty file.
    static let empty = Self(status: StatusCode(200), headers: ["Content-Length": "0"])
}
