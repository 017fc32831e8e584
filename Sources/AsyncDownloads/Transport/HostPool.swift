/// The size of an engine's connection pool.
enum HostPool {
    /// The maximum number of exchanges of one transfer.
    static let maximumExchangeCount = 16
    private static let leastSize = 256
    private static let mostSize = 1 << 20

    /// Returns the number of connections with one host at which no exchange waits in the pool of an engine.
    ///
    /// Each transfer may have as many exchanges as ``maximumExchangeCount``, and a connection that is being
    /// closed still counts.
    static func size(forTransfers count: Int) -> Int {
        let (size, overflow) = count.multipliedReportingOverflow(by: 2 * maximumExchangeCount)
        return overflow ? mostSize : min(max(leastSize, size), mostSize)
    }
}
