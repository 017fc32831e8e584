#if ServerStack
/// An attempt to open one connection for an exchange; used on its event loop only.
protocol ConnectionAttempt: AnyObject {
    /// Begins the attempt; calls `completion` once with the connection or an error, unless the attempt is canceled.
    func start(completion: @escaping (Result<HTTPConnection, any Error>) -> Void)

    /// Ends the attempt at once, without a result.
    func cancel()
}

/// The source of a pool's connections; tests supply a fake.
protocol Connector: Sendable {
    /// Creates an attempt without starting it.
    func makeAttempt(for exchange: NIOExchange, in pool: ConnectionPool) -> any ConnectionAttempt
}
#endif
