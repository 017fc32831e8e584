/// Ties one exchange of an engine to its transfer, under the number that the state machine gave it.
final class ExchangeReceiver: ExchangeHandler {
    private struct State {
        var exchange: (any Exchange)?
        var isCancelled = false
        var gate: Gate?
        var hasEnded = false
    }

    private let transfer: Transfer
    private let number: Int
    private let state = Mutex(State())

    init(transfer: Transfer, number: Int) {
        self.transfer = transfer
        self.number = number
    }

    /// Takes the engine's handle, which may come after the exchange's first callbacks.
    func started(_ exchange: any Exchange) {
        let cancelNow = state.withLock { state in
            guard !state.hasEnded else { return false }
            state.exchange = exchange
            return state.isCancelled
        }
        if cancelNow { exchange.cancel() }
    }

    /// Cancels the exchange, also when the engine has not handed it over yet.
    func cancel() {
        let exchange = state.withLock { state in
            state.isCancelled = true
            return state.exchange
        }
        exchange?.cancel()
    }

    /// Holds the body back from now on.
    func shutGate() -> Gate {
        let gate = Gate()
        state.withLock { $0.gate = gate }
        return gate
    }

    /// Lets the body flow.
    func openGate() {
        let gate = state.withLock { state in
            defer { state.gate = nil }
            return state.gate
        }
        gate?.open()
    }

    func exchangeReceivedHead(_ head: ResponseHead) -> Readiness {
        transfer.headArrived(head, from: self, number: number)
    }

    func exchangeReceivedBytes(_ bytes: UnsafeRawBufferPointer) -> Readiness {
        transfer.bytesArrived(bytes, exchange: number)
        return .ready
    }

    func exchangeEnded(_ end: ExchangeEnd) {
        let isFirst = state.withLock { state in
            defer {
                state.hasEnded = true
                state.exchange = nil
            }
            return !state.hasEnded
        }
        // Nothing is left to be held back; and what waits at a gate, the engine's part of this exchange, lives until then.
        openGate()
        // The port promises one end; an engine that breaks the promise must not reach the next exchange.
        if isFirst { transfer.exchangeEnded(end, number: number) }
    }
}
