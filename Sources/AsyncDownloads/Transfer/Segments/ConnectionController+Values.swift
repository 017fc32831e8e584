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
        /// Whether the other transfers have received bytes within the last seconds.
        var hasActiveOthers = false
        /// The number of this transfer's connections that have a segment.
        var segmentCount: Int
        /// The number of this transfer's bytes that have not been received.
        var remainingCount: Int64
        /// The time that a connection takes to deliver its first byte.
        var setup: Duration
        /// The parts in which the body arrives over one connection, if they have the same intervals.
        var parts: BodyParts?
        /// The last parts that have arrived over the connections with a segment; nil unless each receives parts.
        var connectionParts: ConnectionParts?
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

        /// Returns the sum of the rates of the last parts, if it has increased by what a server that limits each connection
        /// permits, give or take a quarter.
        ///
        /// This takes one interval of the parts, whereas windows have to contain equal numbers of parts. Rates of parts don't
        /// show whether another transfer loses what this one gains.
        func rateOfParts(after step: ConnectionStep) -> RateWindows.Rate? {
            guard let connectionParts, !hasActiveOthers, segmentCount == step.to,
                connectionParts.firstEnd > step.startedAt, connectionParts.shortestInterval >= setup * 1.5
            else { return nil }
            let rate = RateWindows.Rate(own: connectionParts.rate)
            return abs(step.gain(rate) / step.proportion - 1) <= 0.25 ? rate : nil
        }

        /// Returns the rate with which the first step may begin before the rate has settled, given the windows' rate.
        ///
        /// At its start, a connection becomes faster with each round trip. A single window shows its final rate only if the
        /// round-trip time is short.
        func earlyRate(_ windows: RateWindows.Rate?) -> RateWindows.Rate? {
            // A rate of parts doesn't show whether another transfer loses what this one gains.
            if otherByteCount == 0, let serverParts { return RateWindows.Rate(own: serverParts.rate) }
            return setup <= .milliseconds(10) ? windows : nil
        }

        /// The maximum number of connections for the remaining bytes: one for every 4 MiB.
        var largestNumber: Int { Int(clamping: remainingCount / (4 << 20)) }
    }
}
