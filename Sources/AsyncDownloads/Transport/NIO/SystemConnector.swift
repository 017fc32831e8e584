#if ServerStack
internal import NIOCore

/// The connector for TCP, proxies, and TLS.
struct SystemConnector: Connector {
    let security: ClientSecurity
    let addressFamily: AddressFamily
    let timeout: TimeAmount

    func makeAttempt(for exchange: NIOExchange, in pool: ConnectionPool) -> any ConnectionAttempt {
        SystemConnectionAttempt(
            by: exchange.request.route, security: security, addressFamily: addressFamily, timeout: timeout, pool: pool)
    }
}
#endif
