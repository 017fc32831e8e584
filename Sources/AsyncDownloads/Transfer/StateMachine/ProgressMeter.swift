internal import Foundation

/// A counter of received bytes, which also smooths the speed and decides when to emit progress (rules 56 and 57).
///
/// The speed is an exponentially weighted mean with a time constant of three seconds. It follows a lasting change
/// within seconds and falls to zero during a stall, without following every burst.
struct ProgressMeter: Sendable {
    /// The number of body bytes that were received from the network.
    private(set) var fetched: Int64 = 0

    /// Whether the start of the download was emitted, which must precede any progress.
    private(set) var hasEmittedStart = false

    private let interval: Duration
    private static let timeConstant = Duration.seconds(3)
    private var lastEmission: Duration?
    private var isDirty = false
    private var sampleStart: Duration?
    private var sampleBytes: Int64 = 0
    private var speed: Double?
    /// Whether a periodic check, which may emit progress, is scheduled.
    private var isTicking = false

    init(interval: Duration) {
        self.interval = interval
    }

    /// Starts measuring, because an exchange is about to deliver bytes; earlier time says nothing about the network.
    mutating func start(at now: Duration) {
        sampleStart = now
        sampleBytes = 0
    }

    /// Stops measuring, because no exchange delivers bytes.
    mutating func stop() {
        sampleStart = nil
        speed = nil
    }

    /// Returns whether the start of the download is to be emitted; true only once.
    mutating func emitStart() -> Bool {
        defer { hasEmittedStart = true }
        return !hasEmittedStart
    }

    /// Returns whether the next periodic check is to be scheduled; if so, records that it is.
    mutating func scheduleTick() -> Bool {
        defer { isTicking = true }
        return !isTicking
    }

    /// Records that the scheduled check takes place.
    mutating func tick() {
        isTicking = false
    }

    /// Counts `count` bytes.
    mutating func add(_ count: Int) {
        fetched += Int64(count)
        sampleBytes += Int64(count)
        isDirty = true
    }

    /// Records that bytes were stored; their arrival may already have been emitted together with bytes of another
    /// exchange.
    mutating func stored() {
        isDirty = true
    }

    /// Returns whether progress is to be emitted: at most once per interval, if bytes arrived or were stored, or while a
    /// speed is known, so that a stall becomes visible.
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
        // A shorter sample would measure the size of the engine's parts instead of the network.
        guard elapsed >= .milliseconds(50) else { return }
        let rate = Double(sampleBytes) / (elapsed / .seconds(1))
        let weight = 1 - exp(-(elapsed / Self.timeConstant))
        speed = speed.map { $0 + weight * (rate - $0) } ?? rate
        sampleStart = now
        sampleBytes = 0
    }
}
