#if ServerStack
internal import NIOCore

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
