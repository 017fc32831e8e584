#if ServerStack
internal import NIOCore

/// A connection pool as other threads see it.
struct ConnectionPoolHandle: Sendable {
    let loop: DeliveryLoop
    private let pool: NIOLoopBoundBox<ConnectionPool>

    init(loop: DeliveryLoop, connector: any Connector, budget: DescriptorBudget, longestWait: TimeAmount) {
        self.loop = loop
        let pool = ConnectionPool(loop: loop, connector: connector, budget: budget, longestWait: longestWait)
        self.pool = .makeBoxSendingValue(pool, eventLoop: loop.eventLoop)
    }

    /// Enqueues `body` on the pool's event loop, also if it is called on that loop.
    ///
    /// So no function of the pool runs inside a callback of a handler.
    func execute(_ body: @escaping @Sendable (ConnectionPool) -> Void) {
        loop.eventLoop.execute { body(pool.value) }
    }
}
#endif
