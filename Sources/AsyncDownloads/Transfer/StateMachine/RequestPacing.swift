/// Slows down requests whose answers bring little although more was asked for.
///
/// Without it, a server that answers each request with one byte would be asked for the next byte as fast as it answers.
/// Short answers are legal (RFC 9110, 15.3.7), so they are no failure: the first few are followed at once, and the rest
/// after delays that never grow longer than a second.
struct RequestPacing: Sendable {
    /// How many short answers in a row are followed at once.
    private static let burst = 8
    /// The bytes that an answer must bring so that it is not short, whatever was asked for.
    private static let enough: Int64 = 64 << 10
    private static let firstDelay = Duration.milliseconds(100)
    private static let longestDelay = Duration.seconds(1)

    private var shortCount = 0

    /// Notes an answer that ended in order, and returns how long the next request has to wait; `nil` for not at all.
    ///
    /// - Parameters:
    ///   - byteCount: The new bytes that it brought; those that were there already do not count.
    ///   - isComplete: Whether it brought all that was asked for.
    mutating func delay(afterAnswerOf byteCount: Int64, isComplete: Bool) -> Duration? {
        guard !isComplete, byteCount < Self.enough else {
            shortCount = 0
            return nil
        }
        shortCount += 1
        guard shortCount >= Self.burst else { return nil }
        let doublings = min(shortCount - Self.burst, 10)
        return min(Self.firstDelay * (1 << doublings), Self.longestDelay)
    }
}
