#if ServerStack
internal import Foundation
internal import NIOCore

/// The transport that uses HTTP/1.1 over SwiftNIO.
///
/// Each event loop has a pool of connections (``ConnectionPool``). An exchange stays on the loop that was chosen for
/// it: its connection, its timers, and its state are used on that loop only. Its events are delivered by an
/// ``ExchangeDelivery``, which holds back the reads of the connection while the handler isn't ready.
package final class NIOTransport: Transport {
    private struct State {
        /// The pools, one for each event loop; empty until the first exchange.
        var pools: [ConnectionPoolHandle] = []
        var choice = LoopChoice()
        var isShutDown = false
    }

    private let connectTimeout: Duration
    private let security: ClientSecurity
    private let proxies: ProxyRules
    private let addressFamily: AddressFamily
    private let state = Mutex(State())

    /// Creates a transport; nothing is opened before the first exchange.
    ///
    /// - Parameters:
    ///   - connectTimeout: The time limit for establishing a connection: resolving the name, connecting, opening a
    ///     proxy's tunnel, and the TLS handshake.
    ///   - security: The TLS settings.
    ///   - proxy: The proxy of all requests.
    ///   - addressFamily: The family of the addresses to which connections are made.
    package init(
        connectTimeout: Duration = .seconds(30), security: SecuritySettings = SecuritySettings(),
        proxy: ProxyChoice = .none, addressFamily: AddressFamily = .any
    ) {
        self.connectTimeout = connectTimeout
        self.security = ClientSecurity(security)
        self.addressFamily = addressFamily
        proxies = ProxyRules(proxy, environment: ProcessInfo.processInfo.environment)
    }

    deinit {
        // No exchange is running, because every exchange retains its transport.
        for pool in state.withLock(\.pools) { pool.execute { $0.shutDown() } }
    }

    package var windowLength: Int64? { nil }
    package var decodesContent: Bool { false }
    package var usesLocalProxy: Bool { proxies.includeLocalServer }

    package func start(
        _ request: ExchangeRequest, beside neighbor: (any Exchange)?, handler: any ExchangeHandler
    ) -> any Exchange {
        do {
            let request = try WireRequest(request, proxies: proxies, hasIdentity: security.hasIdentity)
            try security.prepare(for: request.route)
            // Threads that write to one file wait for each other. With TLS, several threads lose less time by waiting
            // than they gain by decrypting at the same time.
            let neighborIndex = request.route.isSecure ? nil : (neighbor as? NIOExchange)?.poolIndex
            let (pool, index) = try pool(for: request.origin, beside: neighborIndex)
            let origin = request.origin
            let exchange = NIOExchange(
                request, pool: pool, poolIndex: index, handler: handler,
                whenKept: { [self] in state.withLock { $0.choice.kept(with: origin, at: index) } },
                whenEnded: { [self] in state.withLock { $0.choice.end(with: origin, at: index) } })
            pool.execute { $0.start(exchange) }
            return exchange
        } catch {
            handler.exchangeEnded(.failed(DownloadError(nio: error, hasHead: false)))
            return FailedExchange()
        }
    }

    package func shutdown() async {
        let pools = state.withLock { state in
            defer { state = State(isShutDown: true) }
            return state.pools
        }
        // The pools' shutdown isn't awaited, because a callback that waits for a disk may block the loop.
        for pool in pools { pool.execute { $0.shutDown() } }
    }

    /// Returns the pool of an exchange with `origin`, and creates the pools if they don't exist.
    ///
    /// - Parameter neighbor: The position of the pool of the exchange's neighbor; nil for no neighbor.
    private func pool(
        for origin: Origin, beside neighbor: Int?
    ) throws -> (pool: ConnectionPoolHandle, index: Int) {
        try state.withLock { state in
            if state.isShutDown { throw DownloadError(.shutDown) }
            if state.pools.isEmpty { state.pools = try makePools() }
            let index = state.choice.begin(with: origin, beside: neighbor, of: state.pools.count)
            return (state.pools[index], index)
        }
    }

    private func makePools() throws -> [ConnectionPoolHandle] {
        if let shortage = DescriptorShortage.error(opening: EventLoops.descriptorCount + 1) { throw shortage }
        let budget = DescriptorBudget(loopCount: EventLoops.all.count)
        let timeout = TimeAmount(connectTimeout)
        let connector = SystemConnector(security: security, addressFamily: addressFamily, timeout: timeout)
        return EventLoops.all.map {
            ConnectionPoolHandle(
                loop: $0, connector: connector, budget: budget, longestWait: timeout)
        }
    }
}

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
    /// A closure to call on the event loop if the connection is kept after the response.
    let whenKept: @Sendable () -> Void
    private let pool: ConnectionPoolHandle
    private let state: NIOLoopBoundBox<State>

    init(
        _ request: WireRequest, pool: ConnectionPoolHandle, poolIndex: Int, handler: any ExchangeHandler,
        whenKept: @escaping @Sendable () -> Void, whenEnded: @escaping @Sendable () -> Void
    ) {
        self.request = request
        self.whenKept = whenKept
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

    func cancel() { pool.execute { [self] in $0.cancel(self) } }
}
#endif
