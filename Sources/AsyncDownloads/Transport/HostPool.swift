/// The size of an engine's connection pool.
enum HostPool {
    private static let leastSize = 256
    private static let mostSize = 1 << 20

    /// Returns how many connections with one host an engine needs so that no exchange waits for one in its pool.
    ///
    /// Each transfer may have as many exchanges as ``HostConnections/maximumCount``, and a connection that is being
    /// closed still counts.
    static func size(forTransfers count: Int) -> Int {
        let (size, overflow) = count.multipliedReportingOverflow(by: 2 * HostConnections.maximumCount)
        return overflow ? mostSize : min(max(leastSize, size), mostSize)
    }
}
