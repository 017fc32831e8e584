/// The silence of an origin that has received requests and sends no response.
///
/// A silent origin may receive more requests, but other origins take precedence. The silence ends with a response, not
/// with the failure of a request.
struct OriginSilence: Sendable {
    private static let shortestTime = Duration.seconds(2)

    /// The number of requests of permits that haven't been answered.
    private var awaitedCount = 0
    /// The time of the last response or, if it is later, of a request that was sent while no other one was unanswered.
    private var start = Duration.zero
    /// Whether the origin is silent.
    private(set) var isPresent = false

    /// Whether a request hasn't been answered.
    var isResponseExpected: Bool { awaitedCount > 0 }

    /// The time at which the origin becomes silent without a response; nil if it is silent, or if none is expected.
    var startTime: Duration? { isPresent || !isResponseExpected ? nil : start + Self.shortestTime }

    /// Records that a request of a permit is being sent.
    mutating func began(at now: Duration) {
        if awaitedCount == 0 { start = now }
        awaitedCount += 1
    }

    /// Records the end of a request.
    ///
    /// - Parameters:
    ///   - isAwaited: Whether the request was recorded.
    ///   - isResponse: Whether a response has arrived.
    mutating func ended(isAwaited: Bool, isResponse: Bool, at now: Duration) {
        if isAwaited { awaitedCount -= 1 }
        if isResponse { (isPresent, start) = (false, now) }
    }

    /// Records that the time of ``startTime`` has come.
    mutating func begin() {
        isPresent = true
    }
}
