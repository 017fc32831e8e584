internal import Foundation

/// Counts bytes, smooths the speed, and says when progress is worth telling (rules 56 and 57).
///
/// The speed is an exponentially weighted mean with a time constant of three seconds, so that it follows a real change
/// within seconds and a stall down to zero, but not every burst.
struct ProgressMeter: Sendable {
    /// Body bytes that crossed the network.
    private(set) var fetched: Int64 = 0

    private let interval: Duration
    private let timeConstant = Duration.seconds(3)
    private var lastEmission: Duration?
    private var isDirty = false
    private var sampleStart: Duration?
    private var sampleBytes: Int64 = 0
    private var speed: Double?

    init(interval: Duration) {
        self.interval = interval
    }

    /// An exchange delivers from now on: the time without one is not a measure of the network.
    mutating func start(at now: Duration) {
        sampleStart = now
        sampleBytes = 0
    }

    /// Nothing is delivered any more.
    mutating func stop() {
        sampleStart = nil
        speed = nil
    }

    /// Counts `count` bytes.
    mutating func add(_ count: Int) {
        fetched += Int64(count)
        sampleBytes += Int64(count)
        isDirty = true
    }

    /// Whether it is time to tell; true once for each interval in which something arrived.
    mutating func shouldEmit(at now: Duration) -> Bool {
        guard isDirty || speed != nil else { return false }
        if let lastEmission, now - lastEmission < interval { return false }
        sample(at: now)
        lastEmission = now
        isDirty = false
        return true
    }

    /// The progress as of the last sample.
    func progress(received: Int64, expected: Int64?) -> DownloadProgress {
        var remaining: Duration?
        if let speed, speed >= 1, let expected, expected >= received {
            remaining = .seconds(Double(expected - received) / speed)
        }
        return DownloadProgress(
            receivedByteCount: received, expectedByteCount: expected, fetchedByteCount: fetched,
            bytesPerSecond: speed, timeRemaining: remaining)
    }

    private mutating func sample(at now: Duration) {
        guard let start = sampleStart else { return }
        let elapsed = now - start
        // A shorter sample measures the size of the engine's parts rather than the network.
        guard elapsed >= .milliseconds(50) else { return }
        let rate = Double(sampleBytes) / (elapsed / .seconds(1))
        let weight = 1 - exp(-(elapsed / timeConstant))
        speed = speed.map { $0 + weight * (rate - $0) } ?? rate
        sampleStart = now
        sampleBytes = 0
    }
}
