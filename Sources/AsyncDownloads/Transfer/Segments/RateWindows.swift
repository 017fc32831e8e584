/// The rates of a transfer in consecutive windows of time, and whether they have settled.
///
/// A window lasts from a tenth to a quarter of a second: as long as the samples and ``shortestLength(setup:)`` require,
/// and until enough bytes have arrived that their number says something about the rate.
struct RateWindows: Sendable, Hashable {
    /// Bytes per second: those of the transfer, and those of all others of the downloader.
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

    // A server with a limit for each connection may send a part of the body ten times a second.
    private static let (shortestLength, longestLength) = (Duration.milliseconds(100), Duration.milliseconds(250))
    /// The bytes with which a window ends early.
    ///
    /// Servers and networks deliver in parts of up to some hundred kilobytes.
    private static let sufficientCount: Int64 = 1 << 20
    /// The time without a sample after which nothing is comparable, because the process was suspended.
    private static let longestPause = Duration.seconds(3)
    /// The time over which the mean of a flow in bursts is taken.
    private static let burstTime = Duration.seconds(2)
    /// The time after which a rate that still changes is taken as it is.
    private static let longestTime = Duration.seconds(10)
    static let tolerance = 0.1
    /// A window with less than this fraction of an earlier one shows that the flow arrives in bursts.
    private static let burstFraction = 0.5

    /// The windows since the last disturbance; the latest is the last one.
    private var windows: [Window] = []
    private var start: Duration?
    private var current = Window()
    /// The time for which the flow still counts as arriving in bursts.
    private var burstTimeLeft = Duration.zero

    /// Returns the shortest window that measures a flow instead of its beginnings.
    ///
    /// - Parameter setup: The time that a connection takes to deliver its first byte, which is at least a round trip.
    static func shortestLength(setup: Duration) -> Duration { min(max(shortestLength, setup * 2), longestLength) }

    /// Counts the bytes of the transfer since the last call, and those of the others.
    ///
    /// - Parameter shortest: How long a window lasts at least.
    /// - Returns: The rate and the length of the window that ends now; nil while it continues.
    mutating func add(
        _ count: Int64, others: Int64, shortest: Duration, at now: Duration
    ) -> (rate: Rate, length: Duration)? {
        guard let start else {
            // The bytes before the first call belong to no window.
            start = now
            return nil
        }
        current += Window(ownCount: count, otherCount: others)
        current.length = now - start
        guard current.length < Self.longestPause else {
            restart(at: now)
            return nil
        }
        // Windows of different lengths would contain unequal parts of bursts.
        let isSufficient = !isBursty && current.length >= shortest && current.ownCount >= Self.sufficientCount
        guard isSufficient || current.length >= Self.longestLength else { return nil }
        let (window, rate) = (current, current.rate)
        let isDrop = rate.own < Self.burstFraction * (recent(Self.burstTime).map(\.rate.own).max() ?? 0)
        burstTimeLeft = isDrop ? Self.longestTime : max(.zero, burstTimeLeft - window.length)
        windows.append(window)
        while time - windows[0].length >= Self.longestTime { windows.removeFirst() }
        (self.start, current) = (now, Window())
        return (rate, window.length)
    }

    /// Drops all windows, because they don't measure what the next ones do; the bytes of the next call belong to none.
    mutating func void() {
        (windows, start, current) = ([], nil, Window())
    }

    /// Drops all windows, and begins one that the next call of ``add(_:others:shortest:at:)`` continues.
    mutating func restart(at now: Duration) {
        (windows, start, current) = ([], now, Window())
    }

    /// How long the windows last together.
    var time: Duration { windows.reduce(.zero) { $0 + $1.length } }

    /// Whether the flow arrives in bursts, so that a single window says little.
    var isBursty: Bool { burstTimeLeft > .zero }

    /// The rate, if that of the transfer has settled; nil otherwise.
    ///
    /// It has if two windows in a row, or two means over two windows or half a second, are equal up to a tenth, or less for
    /// windows of less than a quarter of a second.
    /// A server that sends large parts may fill windows alternately with few and many. A flow in bursts has settled
    /// when two means over one or two seconds are equal, and any flow after ten seconds.
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

    /// The mean of up to two seconds, where a decision can't wait; nil without any window.
    var latest: Rate? { windows.isEmpty ? nil : Self.mean(recent(Self.burstTime)) }

    /// Returns the last windows that last for a time together, or all if they don't.
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

    /// Returns the mean of the last windows and those before them, if both have about the same mean.
    ///
    /// - Parameters:
    ///   - last: The last windows.
    ///   - both: Twice as many, or those of twice the time.
    private func agreement(_ last: ArraySlice<Window>, _ both: ArraySlice<Window>) -> Rate? {
        let first = both.prefix(both.count - last.count)
        // One window may be longer than twice the time.
        guard !first.isEmpty else { return nil }
        let (lastRate, firstRate, mean) = (Self.mean(last), Self.mean(first), Self.mean(both))
        // In a shorter time, a rate that grows differs less.
        let length = last.reduce(.zero) { $0 + $1.length }
        let tolerance = Self.tolerance * min(1, length / Self.longestLength)
        return mean.own > 0 && abs(lastRate.own - firstRate.own) <= tolerance * mean.own ? mean : nil
    }
}
