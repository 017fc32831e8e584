/// Ties one exchange of an engine to its transfer, under the number that the state machine gave it.
///
/// A transfer never sees an end while one of the exchange's callbacks is in progress, whatever the engine does: an end
/// that is reported then is held until the callback has returned. So the partial file is not closed while a callback
/// still uses it.
final class ExchangeReceiver: ExchangeHandler {
    private struct State {
        var exchange: (any Exchange)?
        var isCancelled = false
        var gate: Gate?
        /// How many callbacks are in progress: 0 or 1 with an engine that keeps the port's contract.
        var callbackCount = 0
        /// The first end that was reported.
        var end: ExchangeEnd?
        /// Whether the transfer was given the end.
        var hasEnded = false
    }

    private let transfer: Transfer
    private let id: ExchangeID
    private let state = Mutex(State())

    init(transfer: Transfer, exchange id: ExchangeID) {
        self.transfer = transfer
        self.id = id
    }

    /// Takes the engine's handle, which may come after the exchange's first callbacks.
    func started(_ exchange: any Exchange) {
        let cancelNow = state.withLock { state in
            guard state.end == nil else { return false }
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
        guard enterCallback() else { return .ready }
        defer { leaveCallback() }
        return transfer.headArrived(head, from: self, exchange: id)
    }

    func exchangeReceivedBytes(_ bytes: UnsafeRawBufferPointer) -> Readiness {
        guard enterCallback() else { return .ready }
        defer { leaveCallback() }
        return transfer.bytesArrived(bytes, from: self, exchange: id)
    }

    func exchangeEnded(_ end: ExchangeEnd) {
        state.withLock { state in
            // The port promises one end; an engine that breaks the promise must not reach the next exchange.
            if state.end == nil { state.end = end }
            state.exchange = nil
        }
        passEndOn()
    }

    /// Holds the end until what is returned is released, for work that a callback has left to another thread.
    ///
    /// Called inside the callback, so that the end has not passed yet, whether or not it was reported.
    func holdEnd() -> HeldEnd {
        state.withLock { $0.callbackCount += 1 }
        return HeldEnd { [self] in leaveCallback() }
    }

    /// An end that is not given to the transfer yet.
    struct HeldEnd: Sendable {
        fileprivate let body: @Sendable () -> Void

        /// Lets the end pass; to be called once.
        func release() { body() }
    }

    /// What the state machine needs to know of the callbacks for its periodic check.
    var callbackStatus: TransferStateMachine.CallbackStatus {
        let (exchange, isInCallback) = state.withLock { ($0.exchange, $0.callbackCount > 0) }
        return .init(callbackTime: exchange?.callbackTime, isInCallback: isInCallback)
    }

    /// Counts a callback as in progress; false after the end, when nothing more is taken.
    private func enterCallback() -> Bool {
        state.withLock { state in
            guard state.end == nil else { return false }
            state.callbackCount += 1
            return true
        }
    }

    private func leaveCallback() {
        state.withLock { $0.callbackCount -= 1 }
        passEndOn()
    }

    /// Gives the transfer the end, once, when no callback is in progress.
    private func passEndOn() {
        let end = state.withLock { state -> ExchangeEnd? in
            guard let end = state.end, state.callbackCount == 0, !state.hasEnded else { return nil }
            state.hasEnded = true
            return end
        }
        guard let end else { return }
        // Nothing is left to be held back; and what waits at a gate, the engine's part of this exchange, lives until then.
        openGate()
        transfer.exchangeEnded(end, exchange: id)
    }
}
