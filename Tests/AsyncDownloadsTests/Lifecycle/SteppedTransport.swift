import AsyncDownloads

/// An engine in which nothing moves but what a test moves: heads, bytes and ends are given by hand.
final class SteppedTransport: Transport {
    private struct State {
        var exchanges: [SteppedExchange] = []
        var isClosing = false
    }

    private let state = Mutex(State())

    let windowLength: Int64? = nil
    let decodesContent = false

    func start(_ request: ExchangeRequest, handler: any ExchangeHandler) -> any Exchange {
        let exchange = SteppedExchange(request, handler)
        let isClosing = state.withLock { state in
            state.exchanges.append(exchange)
            return state.isClosing
        }
        if isClosing { exchange.endWhenCancelled() }
        return exchange
    }

    func shutdown() async {}

    /// Every exchange so far, in the order in which they began.
    var exchanges: [SteppedExchange] { state.withLock { $0.exchanges } }

    /// Those whose end has not been given.
    var open: [SteppedExchange] { exchanges.filter { !$0.hasEnded } }

    /// Every exchange so far for `path`.
    func exchanges(at path: String) -> [SteppedExchange] { exchanges.filter { $0.path == path } }

    /// From now on cancelled exchanges end by themselves, also those that were cancelled before.
    func close() {
        let exchanges = state.withLock { state in
            state.isClosing = true
            return state.exchanges
        }
        for exchange in exchanges { exchange.endWhenCancelled() }
    }
}
