/// The size of an engine's connection pool.
enum HostPool {
    /// The maximum number of exchanges of one transfer.
    static let maximumExchangeCount = 16
    private static let leastSize = 256
    private static let mostSize = 1 << 20

    /// Returns a number of connections with one host that is large enough that no exchange waits in an engine's pool.
    ///
    /// Each transfer may have up to ``maximumExchangeCount`` exchanges. The number is doubled, because connections that
    /// are being closed still count.
    static func size(forTransfers count: Int) -> Int {
        let (size, overflow) = count.multipliedReportingOverflow(by: 2 * maximumExchangeCount)
        return overflow ? mostSize : min(max(leastSize, size), mostSize)
    }
}
