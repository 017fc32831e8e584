/// The form and the time of the next request: its bounds, its condition, and its delay.
struct RequestStrategy: Sendable {
    /// The length of a bounded request if the engine needs bounded requests; nil for unbounded requests.
    private let windowLength: Int64?
    /// Whether bounded requests are used; false after a server has answered one badly.
    private var usesWindows: Bool
    /// Whether the next partial response only continues the preceding window, so that it isn't reported as a
    /// resumption.
    private(set) var continuesWindows = false
    /// Whether the rest is requested without a condition, and the validator is compared on the client (rule 34).
    private(set) var dropsCondition = false
    /// Whether the condition was dropped for the present URL, which happens only once.
    private var hasDroppedCondition = false
    /// Whether the existing files can't be used, so that the representation is requested even if it is unchanged.
    private(set) var ignoresExisting = false
    /// The number of consecutive wrong responses to range requests.
    private var faultCount = 0
    private var pacing = RequestPacing()

    init(windowLength: Int64?) {
        self.windowLength = windowLength
        usesWindows = windowLength != nil
    }

    /// Whether requests are bounded.
    var isBounded: Bool { usesWindows }

    /// The length of bounded requests; nil while requests are unbounded.
    var window: Int64? { usesWindows ? windowLength : nil }

    /// Whether a request without a condition may follow.
    var mayDropCondition: Bool { !hasDroppedCondition }

    /// Returns the request for the bytes from `position` on.
    func range(from position: Int64, validator: Validator?) -> RequestedRange {
        .continuing(
            at: position, validator: validator, window: usesWindows ? windowLength : nil, isConditional: !dropsCondition
        )
    }

    /// Records a complete response, and returns the delay before the next request; see ``RequestPacing``.
    mutating func delay(afterAnswerOf byteCount: Int64, isComplete: Bool) -> Duration? {
        pacing.delay(afterAnswerOf: byteCount, isComplete: isComplete)
    }

    /// Requests the rest of the object without an end from now on.
    mutating func useUnbounded() {
        usesWindows = false
    }

    /// Omits the condition from the next requests.
    mutating func dropCondition() {
        (dropsCondition, hasDroppedCondition) = (true, true)
    }

    /// Requests the representation even if the existing files are current: a response was inconclusive, or the files
    /// have changed.
    mutating func ignoreExisting() {
        ignoresExisting = true
    }

    /// Sends the condition again, because the bytes were discarded or have another validator.
    mutating func restoreCondition() {
        dropsCondition = false
    }

    /// Resets the counts for another URL, whose server may behave better.
    mutating func addressChanged() {
        faultCount = 0
        hasDroppedCondition = false
    }

    /// Counts a wrong response to a range request, and returns whether it is the first in a row.
    mutating func countFault() -> Bool {
        faultCount += 1
        return faultCount == 1
    }

    /// Records that the server has answered a range request correctly.
    mutating func rangeAnswered() {
        faultCount = 0
    }

    /// Records that a body has started, which the next bounded request only continues.
    mutating func bodyStarted() {
        continuesWindows = usesWindows
    }

    /// Records an interruption, after which the next partial response is a resumption.
    mutating func interrupted() {
        continuesWindows = false
    }
}

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
