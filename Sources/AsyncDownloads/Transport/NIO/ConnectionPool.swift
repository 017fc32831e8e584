#if ServerStack
internal import NIOCore

/// The connections and the exchanges of one event loop; used on that loop only.
///
/// An exchange uses the most recently used idle connection of its route, or opens a new one. The number of idle
/// connections to all origins together is limited (``DescriptorBudget``); beyond the limit, the connections that have
/// been idle the longest are closed. When descriptors run short, idle connections are closed, and exchanges wait until
/// a descriptor is available.
final class ConnectionPool {
    private struct IdleConnection {
        let connection: HTTPConnection
        let since: NIODeadline
    }

    /// An exchange that waits for a descriptor.
    private struct Waiter {
        let exchange: NIOExchange
        let deadline: NIODeadline
    }

    /// The time after which an idle connection is closed.
    private static let idleTimeout = TimeAmount.seconds(60)
    /// The time after which waiting exchanges are tried again, because others may have closed descriptors.
    private static let retryInterval = TimeAmount.milliseconds(100)

    let loop: DeliveryLoop
    private let connector: any Connector
    private let budget: DescriptorBudget
    private let longestWait: TimeAmount
    /// The idle connections, the most recently used one last.
    private var idle: [IdleConnection] = []
    private var running: [ObjectIdentifier: NIOExchange] = [:]
    private var waiting: [Waiter] = []
    private var sweep: Scheduled<Void>?
    private var retry: Scheduled<Void>?
    private var isShutDown = false

    /// Creates an empty pool.
    ///
    /// - Parameters:
    ///   - loop: The event loop on which all methods have to be called.
    ///   - connector: The source of new connections.
    ///   - budget: The descriptors that all pools of the transport may use.
    ///   - longestWait: The maximum time that an exchange waits for a descriptor.
    init(loop: DeliveryLoop, connector: any Connector, budget: DescriptorBudget, longestWait: TimeAmount) {
        self.loop = loop
        self.connector = connector
        self.budget = budget
        self.longestWait = longestWait
    }

    /// Starts an exchange.
    func start(_ exchange: NIOExchange) {
        loop.eventLoop.preconditionInEventLoop()
        running[ObjectIdentifier(exchange)] = exchange
        if isShutDown { return stop(exchange, .failed(DownloadError(.shutDown))) }
        if let index = idle.lastIndex(where: { $0.connection.route == exchange.request.route }) {
            run(exchange, on: idle.remove(at: index).connection)
        } else {
            connect(exchange, deadline: loop.eventLoop.now + longestWait)
        }
    }

    /// Restarts an exchange on a new connection, because the reused connection ended before its response.
    func restart(_ exchange: NIOExchange) {
        exchange.wasRestarted = true
        connect(exchange, deadline: loop.eventLoop.now + longestWait)
    }

    /// Cancels an exchange in any phase; does nothing if it has already ended.
    func cancel(_ exchange: NIOExchange) {
        if case .connecting = exchange.phase {
            stop(exchange, .cancelledWhileConnecting)
        } else {
            stop(exchange, .cancelled)
        }
    }

    /// Ends an exchange in any phase; does nothing if it has already ended.
    func stop(_ exchange: NIOExchange, _ end: ExchangeEnd) {
        loop.eventLoop.preconditionInEventLoop()
        let phase = exchange.phase
        exchange.phase = .ended
        switch phase {
        case .waiting: waiting.removeAll { $0.exchange === exchange }
        case .connecting(let attempt):
            attempt.cancel()
            budget.close()
        case .running(let connection): connection.drop(exchange)
        case .ended: return
        }
        running[ObjectIdentifier(exchange)] = nil
        exchange.delivery.ended(end)
    }

    /// Ends all exchanges and closes all connections; none can be started afterward.
    func shutDown() {
        loop.eventLoop.preconditionInEventLoop()
        isShutDown = true
        for exchange in running.values { cancel(exchange) }
        closeOldest(idle.count)
        sweep?.cancel()
        retry?.cancel()
    }

    /// Returns a connection to the pool after a complete response.
    func release(_ connection: HTTPConnection) {
        if isShutDown { return connection.close() }
        if let index = waiting.firstIndex(where: { $0.exchange.request.route == connection.route }) {
            return run(waiting.remove(at: index).exchange, on: connection)
        }
        // Exchanges with other routes wait for a descriptor.
        if !waiting.isEmpty { return connection.close() }
        idle.append(IdleConnection(connection: connection, since: loop.eventLoop.now))
        closeOldest(max(0, idle.count - budget.idleCount))
        scheduleSweep()
    }

    /// Removes a closed connection, and starts waiting exchanges.
    func connectionClosed(_ connection: HTTPConnection) {
        idle.removeAll { $0.connection === connection }
        budget.close()
        startWaiting()
    }

    private func run(_ exchange: NIOExchange, on connection: HTTPConnection) {
        exchange.phase = .running(connection)
        connection.send(exchange)
    }

    /// Opens a connection for an exchange, or lets the exchange wait if no descriptor is available.
    private func connect(_ exchange: NIOExchange, deadline: NIODeadline) {
        if budget.isExhausted { return wait(exchange, until: deadline) }
        budget.open()
        let attempt = connector.makeAttempt(for: exchange, in: self)
        exchange.phase = .connecting(attempt)
        attempt.start { [self] result in
            switch result {
            case .success(let connection): run(exchange, on: connection)
            case .failure(let error): connectingFailed(exchange, DownloadError(nio: error, hasHead: false), deadline)
            }
        }
    }

    private func connectingFailed(_ exchange: NIOExchange, _ error: DownloadError, _ deadline: NIODeadline) {
        guard error.code == .tooManyOpenFiles, budget.hasOthers else {
            return stop(exchange, .failed(error))
        }
        budget.close()
        wait(exchange, until: deadline)
    }

    // MARK: - Waiting for descriptors

    private func wait(_ exchange: NIOExchange, until deadline: NIODeadline) {
        exchange.phase = .waiting
        waiting.append(Waiter(exchange: exchange, deadline: deadline))
        scheduleRetry()
        budget.evict()
    }

    private func scheduleRetry() {
        guard retry == nil, !waiting.isEmpty, !isShutDown else { return }
        retry = loop.eventLoop.assumeIsolated().scheduleTask(in: Self.retryInterval) { [self] in
            retry = nil
            for waiter in waiting where waiter.deadline <= loop.eventLoop.now {
                stop(waiter.exchange, .failed(DownloadError(.tooManyOpenFiles, "no descriptor for a connection")))
            }
            startWaiting()
            // Other event loops may have new idle connections.
            if !waiting.isEmpty { budget.evict() }
            scheduleRetry()
        }
    }

    /// Tries each waiting exchange once, while descriptors are available.
    private func startWaiting() {
        for _ in waiting.indices {
            guard let waiter = waiting.first, !isShutDown, !budget.isExhausted else { return }
            waiting.removeFirst()
            connect(waiter.exchange, deadline: waiter.deadline)
        }
    }

    // MARK: - Idle connections

    /// Closes the oldest idle connections, because another exchange of the transport needs descriptors.
    func evictIdle() { closeOldest(min(idle.count, DescriptorBudget.reserve)) }

    private func closeOldest(_ count: Int) {
        let oldest = idle.prefix(count)
        idle.removeFirst(count)
        for idle in oldest { idle.connection.close() }
    }

    private func scheduleSweep() {
        guard sweep == nil, let oldest = idle.first else { return }
        sweep = loop.eventLoop.assumeIsolated().scheduleTask(deadline: oldest.since + Self.idleTimeout) { [self] in
            sweep = nil
            let now = loop.eventLoop.now
            closeOldest(idle.prefix { $0.since + Self.idleTimeout <= now }.count)
            scheduleSweep()
        }
    }
}

/// A reference to a connection pool that any thread may use.
struct ConnectionPoolHandle: Sendable {
    let loop: DeliveryLoop
    private let pool: NIOLoopBoundBox<ConnectionPool>

    init(loop: DeliveryLoop, connector: any Connector, budget: DescriptorBudget, longestWait: TimeAmount) {
        self.loop = loop
        let pool = ConnectionPool(loop: loop, connector: connector, budget: budget, longestWait: longestWait)
        let box = NIOLoopBoundBox.makeBoxSendingValue(pool, eventLoop: loop.eventLoop)
        self.pool = box
        // The reference is weak, because the pool retains the budget.
        budget.onShortage { [weak box] in
            guard let box else { return }
            loop.eventLoop.execute { box.value.evictIdle() }
        }
    }

    /// Enqueues `body` on the pool's event loop, even when called on that loop, so that no method of the pool runs
    /// inside a handler's callback.
    func execute(_ body: @escaping @Sendable (ConnectionPool) -> Void) {
        loop.eventLoop.execute { body(pool.value) }
    }
}
#endif
