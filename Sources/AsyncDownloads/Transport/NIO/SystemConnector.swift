#if ServerStack
internal import NIOCore

/// The connector for TCP and TLS.
struct SystemConnector: Connector {
    let timeout: TimeAmount

    func makeAttempt(for exchange: NIOExchange, in pool: ConnectionPool) -> any ConnectionAttempt {
        SystemConnectionAttempt(
            to: exchange.request.origin, security: exchange.security, timeout: timeout, pool: pool)
    }
}
#endif
