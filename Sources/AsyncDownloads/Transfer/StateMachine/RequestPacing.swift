/// Delays between requests to a server whose responses contain fewer bytes than were requested.
///
/// Otherwise, a server that responds with one byte at a time would receive requests as fast as it responds. Short
/// responses are permitted (RFC 9110, 15.3.7) and don't count as failures: the next request follows the first few short
/// responses immediately, and later ones after a delay of at most a second.
struct RequestPacing: Sendable {
    /// The number of consecutive short responses from which the next request is delayed.
    private static let burst = 8
    /// The number of bytes from which a response isn't short, regardless of the request.
    static let shortResponse: Int64 = 64 << 10
    private static let firstDelay = Duration.milliseconds(100)
    private static let longestDelay = Duration.seconds(1)

    private var shortCount = 0

    /// Records a complete response, and returns the delay before the next request; nil for none.
    ///
    /// - Parameters:
    ///   - byteCount: The number of new bytes in the response.
    ///   - isComplete: Whether the response contained everything that was requested.
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
