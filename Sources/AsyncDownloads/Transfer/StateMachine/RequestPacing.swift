/// Delays requests to a server whose responses bring fewer bytes than were requested.
///
/// Otherwise a server that responds with one byte at a time would be sent requests as fast as it responds. Short
/// responses are permitted (RFC 9110, 15.3.7) and don't count as failures: the first few are followed at once, and the
/// rest after delays of at most a second.
struct RequestPacing: Sendable {
    /// The number of consecutive short responses after which the next request is sent at once.
    private static let burst = 8
    /// A response with this many bytes isn't short, whatever was requested.
    static let shortResponse: Int64 = 64 << 10
    private static let firstDelay = Duration.milliseconds(100)
    private static let longestDelay = Duration.seconds(1)

    private var shortCount = 0

    /// Records a complete response, and returns how long the next request has to wait; nil for not at all.
    ///
    /// - Parameters:
    ///   - byteCount: How many new bytes it brought.
    ///   - isComplete: Whether it brought everything that was requested.
    mutating func delay(afterAnswerOf byteCount: Int64, isComplete: Bool) -> Duration? {
        guard !isComplete, byteCount < Self.shortResponse else {
            shortCount = 0
            return nil
        }
        shortCount += 1
        guard shortCount >= Self.burst else { return nil }
        let doublings = min(shortCount - Self.burst, 10)
        return min(Self.firstDelay * (1 << doublings), Self.longestDelay)
    }
}
