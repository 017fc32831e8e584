@testable import AsyncDownloads

/// A server and the network before it, as rates that depend on the number of connections.
struct SimulatedNetwork: Sendable, CustomStringConvertible {
    let description: String
    /// The maximum rates of the connections in megabytes per second, repeated in the order of the connections.
    var connectionRates: [Double] = [20]
    /// The maximum rate of all connections together, in megabytes per second.
    var linkRate = 10_000.0
    /// The factor by which the link's rate changes with each additional connection.
    var linkFactor = 1.0
    /// The time from a request until the first byte.
    var setup = 0.05
    /// The time that a new connection takes to reach its rate, which increases linearly.
    var rampTime = 0.1
    /// The fixed numbers with which the automatic number is compared; they include the best one.
    var fixedCounts = [16]
    /// The number of connections that the server accepts.
    var limit = 100
    /// The time between two parts of the body that a connection receives, in seconds; zero if the body arrives steadily.
    var partInterval = 0.0
    /// The time since the last whole second at the start, if the server limits each connection by whole seconds, like
    /// nginx: in each second of its clock, it sends at most the bytes of a second, in parts of at most 2 MiB, with pauses
    /// in proportion to the parts.
    var clockPhase: Double?
    /// The time between two parts of the body that the server sends at the rate of the link, each over a random connection,
    /// in seconds; zero if the connections have rates of their own.
    var grantInterval = 0.0
    /// The seed of the random connections.
    var seed: UInt64 = 0
    /// Whether all bytes arrive in the first quarter of each second.
    var isBursty = false
    /// The minimum share of the best fixed number's rate that the automatic number has to reach.
    var leastShare = 0.95
    /// The maximum number of connections that may be tried automatically.
    var largestCount = 16
    /// The duration of a file with the best fixed number, in seconds.
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
