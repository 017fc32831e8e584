/// The number of bytes per second of a whole run, over the last seconds.
///
/// The rates of single downloads say little if there are many small files.
struct RunRate: Sendable, Hashable {
    private static let period = Duration.seconds(5)
    private static let leastPeriod = Duration.milliseconds(500)

    private struct Sample: Sendable, Hashable {
        let time: Duration
        let bytes: Int64
    }

    private var samples: [Sample] = []

    /// Adds the number of bytes up to `now`.
    mutating func add(_ bytes: Int64, at now: Duration) {
        samples.append(Sample(time: now, bytes: bytes))
        // The first sample is the last one that is older than the period.
        while samples.count > 2, now - samples[1].time >= Self.period { samples.removeFirst() }
    }

    /// The rate; nil until it can be measured.
    var bytesPerSecond: Double? {
        guard let first = samples.first, let last = samples.last, last.time - first.time >= Self.leastPeriod else {
            return nil
        }
        return Double(last.bytes - first.bytes) / ((last.time - first.time) / .seconds(1))
    }
}
