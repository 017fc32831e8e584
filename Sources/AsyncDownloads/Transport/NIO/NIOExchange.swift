#if ServerStack
internal import NIOCore

/// An exchange of ``NIOTransport``.
final class NIOExchange: Exchange {
    /// The progress of the exchange; used on its event loop only.
    enum Phase {
        /// The exchange has not reached its pool, or waits there for a descriptor.
        case waiting
        /// A connection is being established for the exchange.
        case connecting(any ConnectionAttempt)
        /// The request was passed to a connection.
        case running(HTTPConnection)
        /// The end was passed to the delivery.
        case ended
    }

    private struct State {
        var phase = Phase.waiting
        var wasRestarted = false
    }

    let request: WireRequest
    /// The position of the exchange's pool, which other exchanges of the same file may use as well.
    let poolIndex: Int
    let delivery: ExchangeDelivery
    private let pool: ConnectionPoolHandle
    private let state: NIOLoopBoundBox<State>

    init(
        _ request: WireRequest, pool: ConnectionPoolHandle, poolIndex: Int, handler: any ExchangeHandler,
        whenEnded: @escaping @Sendable () -> Void
    ) {
        self.request = request
        self.pool = pool
        self.poolIndex = poolIndex
        delivery = ExchangeDelivery(
            handler: handler, isSecure: request.route.isSecure, loop: pool.loop, whenEnded: whenEnded)
        state = .makeBoxSendingValue(State(), eventLoop: pool.loop.eventLoop)
    }

    /// The phase; used on the event loop only.
    var phase: Phase {
        get { state.value.phase }
        set { state.value.phase = newValue }
    }

    /// Whether the request was sent again after its first connection had ended; used on the event loop only.
    var wasRestarted: Bool {
        get { state.value.wasRestarted }
        set { state.value.wasRestarted = newValue }
    }

    var callbackTime: Duration { delivery.callbackTime }

    func cancel() { pool.execute { [self] in $0.stop(self, .cancelled) } }
}
#endif
