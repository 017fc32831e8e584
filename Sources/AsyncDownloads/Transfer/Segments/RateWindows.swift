/// The rates of a transfer in consecutive windows of time, and whether they have settled.
///
/// A window lasts from a tenth to a quarter of a second, or for a multiple of the time between two parts of the body. It
/// lasts at least as long as the samples require, and until enough bytes have arrived for a meaningful rate.
struct RateWindows: Sendable, Hashable {
    /// The rates of the transfer, and of all other transfers of the downloader, in bytes per second.
    struct Rate: Sendable, Hashable {
        var own = 0.0
        var others = 0.0
    }

    private struct Window: Hashable {
        var ownCount: Int64 = 0
        var otherCount: Int64 = 0
        var length = Duration.zero

        var rate: Rate {
            let seconds = length / .seconds(1)
            return Rate(own: Double(ownCount) / seconds, others: Double(otherCount) / seconds)
        }

        static func += (window: inout Self, other: Self) {
            window.ownCount += other.ownCount
            window.otherCount += other.otherCount
            window.length += other.length
        }
    }

    // A server that limits each connection may send a part of the body ten times a second.
    private static let (shortestLength, longestLength) = (Duration.milliseconds(100), Duration.milliseconds(250))
    /// The maximum interval between two samples, and their interval unless the body arrives in parts or a rate is to be
    /// judged soon.
    static let longestInterval = Duration.milliseconds(125)
    /// The number of bytes after which a window ends early.
    ///
    /// Servers and networks deliver bytes in parts of up to some hundred kilobytes.
    private static let sufficientCount: Int64 = 1 << 20
    /// The time without a sample after which nothing is comparable, because the process was suspended.
    private static let longestPause = Duration.seconds(3)
    /// The time over which a flow in bursts is averaged.
    private static let burstTime = Duration.seconds(2)
    /// The time after which a rate that still changes counts as settled.
    private static let longestTime = Duration.seconds(10)
    static let tolerance = 0.1
    /// The fraction of an earlier window's rate below which a window shows that the flow arrives in bursts.
    private static let burstFraction = 0.5

    /// The windows since the last disturbance, in chronological order.
    private var windows: [Window] = []
    private var start: Duration?
    private var current = Window()
    /// The time between two parts of the body that a connection receives; nil if the body doesn't arrive in parts.
    private var partInterval: Duration?
    /// The time for which the flow will still count as arriving in bursts.
    private var burstTimeLeft = Duration.zero

    /// Returns the minimum length of a window that measures a steady flow instead of its start.
    ///
    /// - Parameter setup: The time that a connection takes to deliver its first byte, which is at least a round trip.
    func shortestLength(setup: Duration) -> Duration {
        multiple(of: min(max(Self.shortestLength, setup * 2), Self.longestLength))
    }

    /// Returns the smallest multiple of the time between two parts that isn't considerably shorter than `length`.
    private func multiple(of length: Duration) -> Duration {
        partInterval.map { $0 * max(1, (length / $0 - 0.1).rounded(.up)) } ?? length
    }

    /// Returns the time until the next sample.
    ///
    /// - Parameters:
    ///   - setup: The time that a connection takes to deliver its first byte.
    ///   - isFrequent: Whether a rate is to be judged soon, so that a window needs four samples.
    func sampleInterval(setup: Duration, isFrequent: Bool, at now: Duration) -> Duration {
        let length = isFrequent ? shortestLength(setup: setup) / 4 : multiple(of: Self.longestInterval)
        // Samples also pass on what the other transfers need, which can't wait for a rare part.
        let interval = length / max(1, (length / Self.longestInterval).rounded(.up))
        // A delay of one sample doesn't delay the following ones.
        let elapsed = start.map { (now - $0) / interval } ?? 0
        let rest = elapsed.rounded(.down) + 1 - elapsed
        return interval * (rest < 0.25 ? rest + 1 : rest)
    }

    /// Adapts the windows to a body that arrives in parts, and drops all windows if the time between two parts has changed.
    ///
    /// Windows of a multiple of this time contain the same number of parts of each connection.
    mutating func align(toPartsEvery interval: Duration, at now: Duration) {
        if let partInterval, abs(interval / partInterval - 1) <= Self.tolerance { return }
        self = Self()
        // A part that is early or late arrives within the same window.
        (partInterval, start) = (interval, now + interval / 2)
    }

    /// Drops all windows and the time between two parts, because it was only a pause.
    mutating func forgetParts(at now: Duration) {
        self = Self()
        start = now
    }

    /// Counts the bytes of the transfer and of the others since the last call.
    ///
    /// - Parameter setup: The time that a connection takes to deliver its first byte.
    /// - Returns: The rate and the length of the window that ends now; nil while it continues.
    mutating func add(
        _ count: Int64, others: Int64, setup: Duration, at now: Duration
    ) -> (rate: Rate, length: Duration)? {
        guard let start else {
            // Bytes before the first call belong to no window.
            start = now
            return nil
        }
        guard now > start else { return nil }
        current += Window(ownCount: count, otherCount: others)
        current.length = now - start
        guard current.length < Self.longestPause else {
            restart(at: now)
            return nil
        }
        // A window that ended one sample later would contain more parts.
        let isLongEnough = current.length >= shortestLength(setup: setup) * 0.97
        // Windows of different lengths would contain unequal parts of bursts.
        let isSufficient = !isBursty && isLongEnough && current.ownCount >= Self.sufficientCount
        guard isSufficient || current.length >= multiple(of: Self.longestLength) * 0.97 else { return nil }
        // The end of the last part's interval, so that late samples don't move the windows over a part.
        let end = partInterval.map { start + $0 * max(1, (current.length / $0).rounded()) } ?? now
        current.length = end - start
        let (window, rate) = (current, current.rate)
        let isDrop = rate.own < Self.burstFraction * (recent(Self.burstTime).map(\.rate.own).max() ?? 0)
        burstTimeLeft = isDrop ? Self.longestTime : max(.zero, burstTimeLeft - window.length)
        windows.append(window)
        while time - windows[0].length >= Self.longestTime { windows.removeFirst() }
        (self.start, current) = (end, Window())
        return (rate, window.length)
    }

    /// Drops all windows, because later ones will not be comparable; the bytes of the next call belong to no window.
    mutating func void() {
        (windows, start, current) = ([], nil, Window())
    }

    /// Drops all windows, and begins one that the next call of ``add(_:others:setup:at:)`` continues.
    mutating func restart(at now: Duration) {
        (windows, start, current) = ([], now, Window())
    }

    /// The number of windows.
    var count: Int { windows.count }

    /// The total length of the windows.
    var time: Duration { windows.reduce(.zero) { $0 + $1.length } }

    /// Whether the flow arrives in bursts, so that a single window says little.
    var isBursty: Bool { burstTimeLeft > .zero }

    /// The rate, if the transfer's rate has settled; nil otherwise.
    ///
    /// The rate has settled if two consecutive windows, or two means over two windows or half a second, differ by at
    /// most a tenth; windows shorter than a quarter of a second may differ proportionally less. Means are compared
    /// because a server that sends large parts may fill windows alternately with few and many bytes. A flow in bursts
    /// has settled when two means over one or two seconds agree. Any flow has settled after ten seconds.
    var settled: Rate? {
        let times = isBursty ? [Self.burstTime / 2, Self.burstTime] : [Self.longestLength * 2]
        var halves = times.filter { $0 * 2 <= time }.map { (recent($0), recent($0 * 2)) }
        if !isBursty {
            let counts = [1, 2].filter { 2 * $0 <= windows.count }
            halves += counts.map { (windows.suffix($0), windows.suffix(2 * $0)) }
        }
        if let mean = halves.lazy.compactMap(agreement).first { return mean }
        return time >= Self.longestTime ? latest : nil
    }

    /// The mean over up to two seconds, for decisions that can't wait; nil without any window.
    var latest: Rate? { windows.isEmpty ? nil : Self.mean(recent(Self.burstTime)) }

    /// Returns the last windows that together last for `time`, or all windows if they are shorter.
    private func recent(_ time: Duration) -> ArraySlice<Window> {
        var sum = Duration.zero
        let count = windows.reversed().prefix { window in
            defer { sum += window.length }
            return sum < time
        }.count
        return windows.suffix(count)
    }

    private static func mean(_ windows: ArraySlice<Window>) -> Rate {
        windows.reduce(into: Window(), +=).rate
    }

    /// Returns the mean of the last windows and the windows before them, if both have about the same mean.
    ///
    /// - Parameters:
    ///   - last: The last windows.
    ///   - both: The last windows and as many before them, or the windows of twice the time.
    private func agreement(_ last: ArraySlice<Window>, _ both: ArraySlice<Window>) -> Rate? {
        let first = both.prefix(both.count - last.count)
        // A single window may last longer than twice the time.
        guard !first.isEmpty else { return nil }
        let (lastRate, firstRate, mean) = (Self.mean(last), Self.mean(first), Self.mean(both))
        // A growing rate changes less within a shorter time.
        let length = last.reduce(.zero) { $0 + $1.length }
        let tolerance = Self.tolerance * min(1, length / Self.longestLength)
        return mean.own > 0 && abs(lastRate.own - firstRate.own) <= tolerance * mean.own ? mean : nil
    }
}
