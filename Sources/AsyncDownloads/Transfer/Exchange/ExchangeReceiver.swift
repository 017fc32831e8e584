internal import Foundation

/// The handler of one exchange, which forwards its callbacks to the transfer with the exchange's identifier.
///
/// A transfer never receives an end while another callback of the exchange is in progress. If the engine reports the
/// end during a callback, the end is held until the callback has returned, so that the partial file is not closed while
/// the callback uses it.
final class ExchangeReceiver: ExchangeHandler {
    private struct State {
        var exchange: (any Exchange)?
        var isCancelled = false
        var hold = Hold.none
        /// The number of callbacks and held ends in progress.
        ///
        /// An engine that fulfills the port's contract has at most one callback in progress.
        var callbackCount = 0
        /// The first end that was reported.
        var end: ExchangeEnd?
        /// Whether the end was passed to the transfer.
        var hasEnded = false
        /// The request, until its answer was reported to the scheduler.
        var request: PermitQueue.Begun?
        /// The first bytes of the body of a response that refuses the request.
        var refusalBody = Data()
        /// The measurements for the observer; nil without one.
        var measurement: ExchangeMeasurement?
    }

    /// What holds the body back.
    private enum Hold {
        case none
        /// The transfer opens the gate.
        case shut(Gate)
        /// A bandwidth limit is reached, and opens the gate later.
        case paced(Gate)

        var gate: Gate? {
            switch self {
            case .none: nil
            case .shut(let gate), .paced(let gate): gate
            }
        }

        var isPaced: Bool { if case .paced = self { true } else { false } }
    }

    private let transfer: ActiveTransfer
    private let id: ExchangeID
    /// The URL of the request.
    let url: URL
    private let state: Mutex<State>

    init(
        transfer: ActiveTransfer, exchange id: ExchangeID, url: URL, request: PermitQueue.Begun,
        measurement: ExchangeMeasurement? = nil
    ) {
        self.transfer = transfer
        self.id = id
        self.url = url
        state = Mutex(State(request: request, measurement: measurement))
    }

    /// Returns the request to report its answer to the scheduler; nil after the first call.
    func takeRequest() -> PermitQueue.Begun? {
        state.withLock { $0.request.take() }
    }

    /// Stores the engine's handle, which may arrive after the exchange's first callbacks.
    func started(_ exchange: any Exchange) {
        let cancelNow = state.withLock { state in
            guard state.end == nil else { return false }
            state.exchange = exchange
            return state.isCancelled
        }
        if cancelNow { exchange.cancel() }
    }

    /// The engine's handle; nil before it was stored, and after the end.
    var runningExchange: (any Exchange)? { state.withLock { $0.exchange } }

    /// Cancels the exchange, even if the engine has not returned its handle yet.
    func cancel() {
        let (exchange, isPaced) = state.withLock { state in
            state.isCancelled = true
            return (state.exchange, state.hold.isPaced)
        }
        exchange?.cancel()
        // The bytes behind the gate are not needed anymore, and the end would wait for them.
        if isPaced { openGate() }
    }

    /// Creates a gate that holds back the body from now on.
    func shutGate() -> Gate {
        let gate = Gate()
        state.withLock { $0.hold = .shut(gate) }
        return gate
    }

    /// Opens the gate, so that the body is delivered.
    ///
    /// - Parameter evenIfPaced: Whether to open even a gate that is shut because of a bandwidth limit.
    func openGate(evenIfPaced: Bool = true) {
        let gate = state.withLock { state -> Gate? in
            guard evenIfPaced || !state.hold.isPaced else { return nil }
            defer { state.hold = .none }
            return state.hold.gate
        }
        gate?.open()
    }

    /// Creates a gate that holds back the body until all of `gates` are open, or the exchange is canceled or has ended.
    func paceGate(_ gates: [Gate]) -> Gate? {
        let gate = Gate()
        let isSet = state.withLock { state in
            guard !state.isCancelled, state.end == nil, case .none = state.hold else { return false }
            state.hold = .paced(gate)
            return true
        }
        guard isSet else { return nil }
        Self.whenOpen(gates[...]) { [weak self] in self?.opened(gate) }
        return gate
    }

    private static func whenOpen(_ gates: ArraySlice<Gate>, _ body: @escaping @Sendable () -> Void) {
        guard let first = gates.first else { return body() }
        first.onOpen { whenOpen(gates.dropFirst(), body) }
    }

    private func opened(_ gate: Gate) {
        let isShut = state.withLock { $0.hold.gate === gate }
        if isShut { openGate() }
    }

    /// The maximum number of bytes that are kept of the body of a response that refuses the request.
    private static let longestRefusalBody = 16 << 10

    /// Keeps bytes of the body of a response that refuses the request, and cancels the exchange when enough are kept.
    func keepRefusalBody(_ bytes: UnsafeRawBufferPointer) {
        let isFull = state.withLock { state in
            state.refusalBody.append(contentsOf: bytes.prefix(Self.longestRefusalBody - state.refusalBody.count))
            return state.refusalBody.count == Self.longestRefusalBody
        }
        if isFull { cancel() }
    }

    /// The first bytes of the body of a response that refuses the request, or nil if none have arrived.
    var refusalBody: Data? {
        state.withLock { $0.refusalBody.isEmpty ? nil : $0.refusalBody }
    }

    var longestPart: Int? { transfer.longestPart }

    func exchangeWaits(forConnectivity isWaiting: Bool) {
        guard enterCallback() else { return }
        defer { leaveCallback() }
        transfer.exchangeWaits(forConnectivity: isWaiting, exchange: id)
    }

    func exchangeUses(_ connection: ExchangeConnection) {
        state.withLock { $0.measurement?.uses(connection) }
    }

    func exchangeReceivedHead(_ head: ResponseHead) -> Readiness {
        guard enterCallback({ $0?.received(head) }) else { return .ready }
        defer { leaveCallback() }
        var head = head
        head.url = url
        return transfer.headArrived(head, from: self, exchange: id)
    }

    func exchangeReceivedBytes(_ bytes: UnsafeRawBufferPointer) -> Readiness {
        guard enterCallback({ $0?.received(bytes.count) }) else { return .ready }
        defer { leaveCallback() }
        return transfer.bytesArrived(bytes, from: self, exchange: id)
    }

    func exchangeEnded(_ end: ExchangeEnd) {
        state.withLock { state in
            // The port promises a single end; an engine that breaks this promise must not affect the next exchange.
            if state.end == nil { state.end = end }
            state.exchange = nil
        }
        passEndOn()
    }

    /// Holds the end until the returned value is released, while another thread continues the work of a callback.
    ///
    /// This method must be called inside the callback, while the end cannot have been passed on, even if it was
    /// reported.
    func holdEnd() -> HeldEnd {
        state.withLock { $0.callbackCount += 1 }
        return HeldEnd { [self] in leaveCallback() }
    }

    /// An end that is not passed to the transfer yet.
    struct HeldEnd: Sendable {
        fileprivate let body: @Sendable () -> Void

        /// Allows the end to be passed on; must be called once.
        func release() { body() }
    }

    /// The status of the callbacks, for the state machine's periodic check.
    var callbackStatus: TransferStateMachine.CallbackStatus {
        // An exchange that waits for its share of the bandwidth isn't idle.
        let (exchange, isInCallback) = state.withLock { ($0.exchange, $0.callbackCount > 0 || $0.hold.isPaced) }
        return .init(callbackTime: exchange?.callbackTime, isInCallback: isInCallback)
    }

    /// Counts a callback as in progress, and returns true; returns false after the end, when callbacks are ignored.
    private func enterCallback(_ measure: (inout ExchangeMeasurement?) -> Void = { _ in }) -> Bool {
        state.withLock { state in
            guard state.end == nil else { return false }
            state.callbackCount += 1
            measure(&state.measurement)
            return true
        }
    }

    private func leaveCallback() {
        state.withLock { $0.callbackCount -= 1 }
        passEndOn()
    }

    /// Passes the end to the transfer, once, when no callback is in progress.
    private func passEndOn() {
        let (end, report) = state.withLock { state -> (ExchangeEnd?, (@Sendable () -> Void)?) in
            guard let end = state.end, state.callbackCount == 0, !state.hasEnded else { return (nil, nil) }
            state.hasEnded = true
            return (end, state.measurement?.ended(end))
        }
        guard let end else { return }
        report?()
        // The bytes behind the gate are no longer needed, and an engine that waits at the gate would keep its
        // resources.
        openGate()
        transfer.exchangeEnded(end, exchange: id)
    }
}
