import AsyncDownloads

/// An engine that the test controls: heads, bytes, and ends are delivered only when the test does so.
final class SteppedTransport: Transport {
    private struct State {
        var exchanges: [SteppedExchange] = []
        var isClosing = false
    }

    private let state = Mutex(State())

    let windowLength: Int64? = nil
    let decodesContent = false

    func start(
        _ request: ExchangeRequest, beside neighbor: (any Exchange)?, handler: any ExchangeHandler
    ) -> any Exchange {
        let exchange = SteppedExchange(request, beside: neighbor, handler)
        let isClosing = state.withLock { state in
            state.exchanges.append(exchange)
            return state.isClosing
        }
        if isClosing { exchange.endWhenCancelled() }
        return exchange
    }

    func shutdown() async {}

    /// All exchanges so far, in the order in which they were started.
    var exchanges: [SteppedExchange] { state.withLock { $0.exchanges } }

    /// The exchanges that have not ended.
    var open: [SteppedExchange] { exchanges.filter { !$0.hasEnded } }

    /// Returns all exchanges for `path` so far.
    func exchanges(at path: String) -> [SteppedExchange] { exchanges.filter { $0.path == path } }

    /// Ends canceled exchanges automatically from now on, including those that were canceled before.
    func close() {
        let exchanges = state.withLock { state in
            state.isClosing = true
            return state.exchanges
        }
        for exchange in exchanges { exchange.endWhenCancelled() }
    }
}
