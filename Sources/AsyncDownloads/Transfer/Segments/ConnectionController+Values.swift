extension ConnectionController {
    /// The way in which the number is chosen.
    enum Mode: Sendable, Hashable {
        /// As many connections as measurably increase the rate, up to a maximum.
        case automatic(maximum: Int)
        /// A number that the caller has chosen; refusals and limits of the host reduce it.
        case fixed(Int)
    }

    /// The way in which the server limits the rate, according to the steps so far.
    enum Growth {
        /// Unknown; a step doubles the number.
        case unknown
        /// The server limits each connection; a step adds eight.
        case proportional
        /// A step that more than doubled the number has gained too little; a step doubles the number.
        case limited
    }

    /// The measurements since the last sample.
    struct Sample: Sendable {
        /// The number of bytes that this transfer has received.
        var byteCount: Int64
        /// The number of bytes that the other transfers of the downloader have received.
        var otherByteCount: Int64 = 0
        /// The number of this transfer's connections that have a segment.
        var segmentCount: Int
        /// The number of this transfer's bytes that have not been received.
        var remainingCount: Int64
        /// The time that a connection takes to deliver its first byte.
        var setup: Duration
        /// The parts in which the body arrives over one connection, if they have the same intervals.
        var parts: BodyParts?
        /// The maximum number of connections that the host, the other transfers, and the memory currently permit.
        var bound: Int
        /// Whether something other than the network limits the rate: a bandwidth limit, or the disk.
        var isThrottled = false
        /// Whether it is this transfer's turn to try a step.
        var mayTry = true
        /// Whether more requests can currently be sent; the URL may have expired.
        var mayRequest = true

        /// Returns whether a step from this rate may begin.
        ///
        /// The remaining bytes have to take a minimum time at this rate without the step.
        func permitsStep(at rate: RateWindows.Rate, _ growth: Growth) -> Bool {
            guard mayTry, mayRequest, !isThrottled, rate.own > 0 else { return false }
            // A step that is likely to succeed pays off in a shorter time.
            let leastTime = Duration.milliseconds(growth == .proportional ? 500 : 2000)
            return Double(remainingCount) / rate.own >= max(leastTime, setup * 10) / .seconds(1)
        }

        /// The parts if the server determines their intervals: round trips at the start of a connection and pauses of this
        /// process also separate bytes.
        var serverParts: BodyParts? {
            parts.flatMap { !isThrottled && $0.interval >= setup * 1.5 ? $0 : nil }
        }

        /// Returns the rate with which the first step may begin before the rate has settled, given the windows' rate.
        ///
        /// At its start, a connection becomes faster with each round trip. A single window shows its final rate only if the
        /// server is near.
        func earlyRate(_ windows: RateWindows.Rate?) -> RateWindows.Rate? {
            // A rate of parts doesn't show whether another transfer loses what this one gains.
            if otherByteCount == 0, let serverParts { return RateWindows.Rate(own: serverParts.rate) }
            return setup <= .milliseconds(10) ? windows : nil
        }

        /// The maximum number of connections for the remaining bytes: one for every 4 MiB.
        var largestNumber: Int { Int(clamping: remainingCount / (4 << 20)) }
    }
}

/// An increase of a transfer's number of connections, whose gain is judged.
struct ConnectionStep: Sendable, Hashable {
    /// The number of connections before the step.
    let from: Int
    /// The rate with that number.
    let rate: RateWindows.Rate
    /// Whether that rate has settled; otherwise, it may have continued to increase without the step.
    let isSettled: Bool
    /// The number of connections after the step.
    var to: Int
    let startedAt: Duration
    /// The time at which every connection of the step first had a segment.
    var completedAt: Duration?
    /// The minimum time after completion before a step that gains too little is rejected.
    ///
    /// New connections need several round trips to reach their share of the rate.
    private(set) var patience = Duration.milliseconds(200)

    /// The minimum rate of a worthwhile connection, as a fraction of the rate of an earlier connection.
    private static let leastContribution = 0.24

    /// The relative increase of the rate if each new connection adds as much as an earlier one.
    var proportion: Double { Double(to - from) / Double(from) }

    /// Whether the step began before the rate of a single connection had settled, which may still have been increasing.
    var isEarly: Bool { from == 1 && !isSettled }

    /// Returns a step from the same number to twice as many, to be tried after a larger step has gained too little.
    ///
    /// Too many connections slow each other down; the remaining ones need some time to regain their share.
    func doubling(at now: Duration) -> Self {
        var step = Self(from: from, rate: rate, isSettled: isSettled, to: 2 * from, startedAt: now)
        step.patience = .seconds(3)
        return step
    }

    /// Returns the number of connections that would produce the gain if each contributed as much as the earlier ones.
    func worthwhileCount(_ rate: RateWindows.Rate) -> Int {
        let count = (gain(rate) * Double(from) - Self.leastContribution).rounded(.up)
        return from + Int(min(max(count, 0), Double(to - from)))
    }

    /// Returns whether each new connection adds at least half as much as an earlier one, on average.
    func isProven(by rate: RateWindows.Rate) -> Bool { gain(rate) >= 0.5 * proportion }

    /// Returns the relative increase of the transfer's rate over the earlier rate.
    ///
    /// A loss of the other transfers is subtracted if it exceeds the usual variation of their rate.
    func gain(_ rate: RateWindows.Rate) -> Double {
        let loss = self.rate.others - rate.others
        let isLoss = loss > RateWindows.tolerance * self.rate.others
        return (rate.own - self.rate.own - (isLoss ? loss : 0)) / self.rate.own
    }
}

/// The downloader's input to a transfer's decision about the number of its connections.
struct ConnectionBudget: Sendable, Hashable {
    /// The number of bytes that all transfers of the downloader have received.
    var receivedCount: Int64 = 0
    /// The maximum number of connections that the host, the other transfers, and the memory currently permit.
    var bound = HostPool.maximumExchangeCount
    /// The number of connections that increased the rate enough in an earlier transfer from the host; 1 if unknown.
    var worthwhileCount = 1
    /// Whether it is the transfer's turn to try more connections; one transfer tries at a time.
    var mayTry = true
    /// Whether another file from the same origin has several connections.
    var isShared = false
    /// Whether something other than the network limits the rate: a bandwidth limit, or the disk.
    var isThrottled = false
    /// The latest change among the other transfers since the last sample; nil for none.
    var disturbance: Disturbance?
}

/// A transfer's report about its connections, with which it requests a ``ConnectionBudget``.
struct ConnectionReport: Sendable, Hashable {
    /// The origin from which the file is fetched, after redirects.
    var origin: Origin
    /// The number of connections that the transfer uses or is about to open.
    var number: Int
    /// The largest number of the transfer's connections that the host has accepted at the same time.
    var acceptedCount: Int
    /// Whether the caller has chosen the number.
    var isFixed: Bool
    /// Whether the transfer is trying more connections.
    var isTrying = false
    /// Whether bytes have arrived within the last second.
    var isFlowing = true
}

/// A transfer's observations about its host's handling of several connections, for later transfers.
struct HostObservation: Sendable, Hashable {
    /// The maximum number of the transfer's connections that the host accepts; nil if unknown.
    var ceiling: Int?
    /// The number of connections that increased the rate enough; nil if no step was judged.
    var worthwhileCount: Int?
    /// Whether the rate with an accepted number of connections has fallen since.
    var hasCollapsed = false
    /// Whether the host sends the whole body in response to a range.
    var ignoresRanges = false
    /// Whether the host has refused an additional connection.
    var isRefused = false
    /// The time that the host asks to wait after the refusal.
    var retryAfter: Duration?
    /// Whether the host has accepted an additional connection.
    var hasAccepted = false
}

/// The lowest bound of the last seconds.
///
/// A larger bound applies only after it has lasted for some time, so that short files don't repeatedly close the
/// connections of a long file.
struct RecentBound: Sendable, Hashable {
    private static let memory = Duration.seconds(5)

    private(set) var value = Int.max
    /// When the value last applied.
    private var time = Duration.zero

    /// Records the bound that applies now.
    mutating func update(_ new: Int, at now: Duration) {
        guard new <= value || now - time >= Self.memory else { return }
        (value, time) = (new, now)
    }
}

/// A change among the other transfers of a downloader, after which rates are not comparable with earlier ones.
enum Disturbance: Sendable, Hashable {
    /// Another large file has changed its number of connections, or has begun or stopped measuring its rate.
    case otherNumber
    /// A transfer has started or ended.
    case otherTransfer
    /// A large file from the same origin has ended, so the others can use its share of the rate.
    case departure
}
