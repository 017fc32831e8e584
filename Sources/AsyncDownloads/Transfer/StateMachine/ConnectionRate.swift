/// The rates of one connection in windows of 15 seconds.
///
/// A window counts only the time in which bytes could arrive.
struct ConnectionRate: Sendable, Hashable {
    static let windowLength = Duration.seconds(15)

    private struct Window: Sendable, Hashable {
        let start: Duration
        /// The total callback time at the start.
        let callbackTime: Duration
        let position: Int64
    }

    private var window: Window?
    /// The rates of the latest windows in bytes per second, in chronological order.
    private var rates: [Double] = []

    /// Handles a periodic check.
    ///
    /// - Parameters:
    ///   - position: The position of the next byte that arrives.
    ///   - callbackTime: The total time in which this process could not receive.
    mutating func check(position: Int64, callbackTime: Duration, at now: Duration) {
        let next = Window(start: now, callbackTime: callbackTime, position: position)
        guard let window else { return window = next }
        let time = now - window.start - (callbackTime - window.callbackTime)
        guard time >= Self.windowLength else { return }
        if rates.count == SlowConnectionPatience.longestWindowCount { rates.removeFirst() }
        rates.append(Double(position - window.position) / (time / .seconds(1)))
        self.window = next
    }

    /// Restarts the present window, because the connection was held back.
    mutating func heldBack() {
        window = nil
    }

    /// Returns the highest rate of the last `count` windows; nil if fewer windows have ended.
    func highest(of count: Int) -> Double? { rates.count < count ? nil : rates.suffix(count).max() }
}

/// The number of slow windows after which a transfer replaces a connection.
///
/// A connection is replaced after two slow windows. If it was hardly faster than the connection that it had replaced,
/// the number of windows doubles: the server or the network is slow, and another replacement would only cost time.
struct SlowConnectionPatience: Sendable, Hashable {
    private static let shortestWindowCount = 2
    static let longestWindowCount = 64
    /// The minimum factor by which a connection has to be faster than the connection that it has replaced.
    private static let leastGain = 1.5

    /// The number of slow windows after which a connection is replaced.
    private(set) var windowCount = Self.shortestWindowCount
    private var replacedRate: Double?

    /// Records that a connection with this rate is being replaced.
    mutating func replaced(_ rate: Double) {
        let isGain = replacedRate.map { rate >= Self.leastGain * $0 } ?? true
        windowCount = isGain ? Self.shortestWindowCount : min(windowCount * 2, Self.longestWindowCount)
        replacedRate = rate
    }
}
