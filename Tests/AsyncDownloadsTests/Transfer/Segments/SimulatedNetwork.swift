@testable import AsyncDownloads

/// A server and the network before it, as rates that depend on the number of connections.
struct SimulatedNetwork: Sendable, CustomStringConvertible {
    let description: String
    /// The most megabytes per second of each connection, repeatedly in the order of the connections.
    var connectionRates: [Double] = [20]
    /// The most megabytes per second of all connections together.
    var linkRate = 10_000.0
    /// By which factor the link's rate changes with each further connection.
    var linkFactor = 1.0
    /// How long it takes from a request until the first byte.
    var setup = 0.05
    /// How long a new connection takes to reach its rate, which increases linearly.
    var rampTime = 0.1
    /// The fixed numbers with which the automatic one is compared, among which is the best one.
    var fixedCounts = [16]
    /// How many connections the server accepts.
    var limit = 100
    /// Whether everything arrives in the first quarter of each second.
    var isBursty = false
    /// The least share of the best fixed number's rate that the automatic number has to reach.
    var leastShare = 0.95
    /// The most connections that the automatic number may try.
    var largestCount = 16
    /// How long a file takes with the best fixed number, in seconds.
    var fileTime = 60.0

    init(_ name: String, _ configure: (inout Self) -> Void = { _ in }) {
        description = name
        configure(&self)
    }

    /// The largest rate that any number of connections reaches, in megabytes per second.
    var bestRate: Double {
        (1...min(16, limit)).map { count in
            let sum = (0..<count).reduce(0) { $0 + connectionRates[$1 % connectionRates.count] }
            return min(sum, link(count))
        }.max() ?? 0
    }

    /// Returns the fraction of the rates of all connections that the link permits.
    func factor(_ rates: [Double]) -> Double { min(1, link(rates.count) / max(rates.reduce(0, +), 1e-9)) }

    /// Returns the rate of the link with this number of connections.
    func link(_ count: Int) -> Double {
        (1..<max(1, count)).reduce(linkRate) { rate, _ in rate * linkFactor }
    }
}
